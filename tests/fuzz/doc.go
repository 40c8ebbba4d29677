// Package fuzz compares the compiler with Go on generated kernels.
//
// Package gen draws kernels from seeds. A [Batch] puts many of them into a
// temporary module, and builds one program, which runs every kernel as plain Go
// and on a device and compares the bytes (package harness). The program stands
// alone: build it where Go is, run it where the GPU is.
//
//	go run ./tests/fuzz/cmd/kilnfuzz -n 2000 -seed 1 -o kilnfuzz
//	./kilnfuzz -device cuda:0
//
// Machine code of the CPU is compared with the interpreter, too, which runs the same
// IR with warps of the same width. The long run of both instruction sets is
//
//	go run ./tests/fuzz/cmd/kilnfuzz -n 10000 -seed 1 -o kilnfuzz
//	./kilnfuzz -device cpu:avx512 && ./kilnfuzz -device cpu:avx2
//
// A kernel on which they disagree is made smaller by package reduce:
//
//	go run ./tests/fuzz/cmd/kilnfuzz -seed 4711 -reduce avx2
//
// The test of this package does a short run, on the CPU, on simulated GPUs of AMD and Apple, and on
// the CPU again as OpenCL C and as LLVM IR.
// Kernels do not depend on the width of a warp; those whose blocks are not whole
// warps of a device are passed over there. A kernel that once failed is kept
// as source in testdata, made smaller, and is part of every short run: seeds
// mean other kernels whenever the generator changes.
//
// Seeds from 1<<41 on (gen.Narrow) give kernels without 64-bit floats and atomics, for
// Metal; other kernels that use them are passed over there.
package fuzz
