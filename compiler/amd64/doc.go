// Package amd64 compiles kernels to vector machine code for the CPU: a warp is a
// vector register, a lane of 32 bits a thread. It needs no toolchain.
//
// The model, in the order of the work:
//
//   - The passes of [pass.Vector] run. Code that most vectors take, all lanes of which pass
//     a test like i < n, is there twice then, and an operation tests which copy runs (whole.go).
//   - Blocks are put in an order in which skipping one whose lanes are all off is one
//     jump. Values are the same in all lanes, go up by a constant from
//     lane to lane, or vary; blocks run with the same lanes or have sets of their own
//     (package analysis).
//   - Each block is emitted in that order. A branch that parts lanes makes two sets
//     of lanes and falls through (flow.go). What is the same in all lanes is in
//     general registers, floats in vectors (value.go); memory is accessed by vectors,
//     gathers or lane by lane (addr.go, memory.go, lanes*.go).
//   - A barrier is a call that goes on with the next vector of the block: at it, all
//     that a vector needs is in its frame (entry.go).
//   - Package regalloc gives out the registers, package asm encodes, and package
//     image holds the result.
//
// There are two levels, x86-64-v3 (AVX2) with eight threads in a vector and x86-64-v4
// (AVX-512) with sixteen. Results are those of the interpreter bit for bit. Of what
// processors have besides the levels VNNI is used, for dsl.Dot4, and AVX512_BF16 or the tile registers
// of AMX, for dsl.PackedMMA: kernels with these have each entry once more, and the driver enters what
// the processor has. So code is the same on all machines of a level.
//
//	code, err := amd64.Emit(module, target)
package amd64
