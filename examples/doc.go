// Package examples holds the programs of the gallery in README.md, a folder each:
//
//	go run ./examples/raytracer
package examples
