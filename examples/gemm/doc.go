// Gemm multiplies matrices in steps, from the textbook's kernel to one near the speed of the vendor's
// library, and prints what each is worth on the device. docs/products.md explains them.
//
// The model: c = a·b for an m×k and a k×n matrix of BF16, with sums in float32, and in the last step
// relu(a·b + bias). All kernels compute the same, and the program compares them. From the third one on
// they are written with package dsl/tile, in one source for every device: steps that a device has no
// hardware for are left out of its table.
//
// Example:
//
//	go run ./examples/gemm -device cuda:0 -n 4096
package main
