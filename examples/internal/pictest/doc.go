// Package pictest tests the examples that draw pictures.
//
// [Readme] draws the picture of an example once more and compares it with the file that its
// README shows. [Everywhere] compares a small one on the engines of the CPU with what the same
// kernels draw as plain Go, which [Plain] runs:
//
//	pixels := make([]uint8, width*height)
//	pictest.Plain(t, width, height, func(t dsl.Thread) { kernels.Paint(t, pixels, width, height) })
//	pictest.Everywhere(t, pixels, draw)
package pictest
