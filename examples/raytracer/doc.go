// Command raytracer renders spheres with reflections and soft shadows:
//
//	go run ./examples/raytracer -device auto -o raytracer.png
package main
