// Command epilogue adds a layer to the tensor library whose product, bias and activation are one
// kernel of the program: limit·tanh((x·wᵀ + bias)/limit), the capped logits of some language models.
// See logits.go: the product is package dsl/tile's, which takes the matrix instructions of the device
// if it has any, and what becomes of a sum is a Go function.
//
// Example:
//
//	go run ./examples/epilogue -device auto
//
// It compares the layer with one of three operations, and prints the time of both.
package main
