// Package host runs kernels as plain Go.
//
// A block of threads is a set of coroutines, one a thread, that run one at a
// time. A thread runs until it returns or reaches a point where threads meet:
// a block barrier, a warp barrier or a warp operation. Threads start in thread
// order, warp by warp, so that a run is deterministic and needs no locks.
//
//	warp 0:  lane 0 → lane 1 → … → (all at one shuffle) exchange, go on
//	warp 1:  lane 0 → lane 1 → … → (all at the block barrier) wait
//	block:   all warps at one barrier → release; all returned → next block
//
// Threads that do not meet where they must are a reported error that names
// both source positions. Package dsl calls into this package from the bodies
// of its intrinsics; package dsltest is its public face.
package host
