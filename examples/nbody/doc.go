// Command nbody lets two galaxies collide and writes an animation of it:
//
//	go run ./examples/nbody -device auto -o nbody.gif
package main
