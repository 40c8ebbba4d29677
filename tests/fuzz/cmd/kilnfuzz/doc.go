// Command kilnfuzz generates kernels and builds a program that runs each as
// plain Go and on a device, and compares.
//
//	go run ./tests/fuzz/cmd/kilnfuzz -n 2000 -seed 1 -o kilnfuzz
//	./kilnfuzz -device cuda:0
//
// The program also runs the kernels by other ways (-through): as CUDA C++ text, OpenCL
// C, or LLVM IR, and, if it was built with -llvm, as the PTX that LLVM makes.
//
//	go run ./tests/fuzz/cmd/kilnfuzz -n 500 -llvm -o kilnfuzz
//	./kilnfuzz -device cuda:0 -through cuda
//	./kilnfuzz -device cuda:0 -through llvm
//	./kilnfuzz -through host:gfx942
//
// It is run in the tree of this module. With -print it writes the source of one
// kernel instead, with -dir it keeps the generated module.
package main
