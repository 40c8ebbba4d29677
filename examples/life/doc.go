// Command life plays Conway's game of life and writes an animation of it:
//
//	go run ./examples/life -device auto -o life.gif
package main
