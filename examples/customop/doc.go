// Command customop adds an operation to the tensor library, with a gradient, in one file
// of less than 40 lines: see softcap.go. The kernel is Go, and runs on every device:
//
//	go run ./examples/customop -device auto
//
// It prints numbers from -60 to 60, softly capped to ±30, and the gradients.
package main
