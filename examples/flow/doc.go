// Command flow simulates the flow past a cylinder and writes an animation of its vortices:
//
//	go run ./examples/flow -device auto -o flow.gif
package main
