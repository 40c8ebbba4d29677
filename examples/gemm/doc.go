// Gemm multiplies matrices in three steps, from the textbook's kernel to matrix instructions, and
// prints what each is worth on the device.
//
// The model: c = relu(a·b + bias) for an m×k and a k×n matrix of BF16, with sums and results in
// float32. All kernels compute the same, and the program compares them. The last one is written with
// package dsl/tile: a few lines more than the first, for every device.
//
// Example:
//
//	go run ./examples/gemm -device cuda:0 -n 4096
package main
