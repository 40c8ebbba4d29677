package runtime

import "github.com/gokiln/kiln/internal/dim"

// Dim3 is a size in up to three dimensions. A zero Y or Z means 1. It is the type of that name
// in package dsl, too.
type Dim3 = dim.Dim3

// Grid is the shape of a launch: how many blocks of how many threads.
type Grid struct{ Blocks, Threads Dim3 }

// Blocks is a grid of b blocks of t threads in one dimension.
func Blocks(b, t int) Grid { return Grid{Dim3{X: b}, Dim3{X: t}} }

// Cover is the smallest grid of blocks of that many threads with at least one
// thread for each of n elements. For n = 0 it has no blocks, and launching it
// does nothing.
func Cover(n, threads int) Grid {
	if n <= 0 || threads <= 0 {
		return Blocks(0, threads)
	}
	return Blocks((n-1)/threads+1, threads)
}
