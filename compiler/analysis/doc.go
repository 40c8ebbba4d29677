// Package analysis has what passes and emitters ask of a function of the IR: its loops and the
// edges of its control flow, ranges of integers, and which values and branches threads agree on.
//
//	loops.go                      natural loops, their entries, latches and exits
//	ranges.go, slices.go          intervals of integers, by value and by place
//	uniform.go, diverge.go        levels of values and blocks: same for the grid, block or warp
//	warpbits.go                   bits of integers that the lanes of a warp have in common
//	divergence.go, why.go         operations that not all threads reach together, and why
//	layout.go                     blocks in the order of vector code, loops as spans of positions
//	lanes.go, laneresult.go       how values differ between the lanes of a vector, and which
//	                              blocks run with some of the lanes
//	strides.go, blockstep.go      how indices go up from iteration to iteration, and from block of
//	                              threads to block
//
// An analysis belongs to the function as it is when it is made. Dominators are in package ir,
// whose verifier needs them.
package analysis
