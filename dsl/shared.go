package dsl

import "github.com/gokiln/kiln/dsl/internal/host"

// Shared returns memory that the threads of a block share. Each call in the
// source is one object of the block, whichever thread makes it and however
// often: two objects need two calls on two lines. T has a fixed size and holds
// numbers and bools only, mostly an array:
//
//	tile := dsl.Shared[[32][33]float32](t)
//
// Its content is undefined when the block starts; dsltest and the CPU fill it with
// bytes 0xFF (NaN, -1) to show reads that come before writes.
//
// All objects of a kernel together may take what a block of the device can have: 32 KiB
// on Apple's GPUs, 64 on AMD's, 64 to 227 on NVIDIA's and 227 on the CPU. A program asks
// runtime.Device.Info for SharedPerBlock.
//
//kiln:intrinsic
//go:noinline
func Shared[T any](t Thread) *T { return host.Shared[T](t.h) }
