// Package dsltest runs kernels as plain Go, for tests and debugging.
//
// [Run] calls a function once for each thread of a grid. The threads of a block
// are coroutines that run one at a time, in order, from one meeting point
// (barrier, shuffle, vote) to the next; blocks follow each other. A run is
// therefore deterministic, a debugger can step through it, and a panic or a
// barrier that not all threads reach comes back as an error with its position:
//
//	err := dsltest.Run(dsl.D1(4), dsl.D1(256), func(t dsl.Thread) {
//		kernels.SwiGLU(t, out, gate, up)
//	})
//
// Shared memory starts as bytes 0xFF, so that reading it before writing gives
// NaN or -1. What a run does not show is a missing barrier: threads run in order, so
// that what they read may be there by luck. Checked handles (jit.Kernel.Checked) on
// the CPU find such races, and reads of shared memory that nobody wrote.
package dsltest
