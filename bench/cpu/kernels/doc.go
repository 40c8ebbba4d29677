// Package kernels holds the kernels with which code for the CPU is measured
// against C. Each has a twin of the same algorithm in bench/cpu/c.
//
// They are written as for any device, with what pays on a CPU in mind, where a
// warp is a vector register: neighbouring threads take neighbouring elements, what
// all threads of a warp read in the same place costs one load, sums go to several
// variables so that one addition need not wait for the last, and a block is small
// enough for its working set to stay in the L1 cache. A kernel that says so
// wants blocks as wide as a warp.
//
//	k := jit.Of(kernels.Saxpy)
//	err := k.Launch(stream, runtime.Blocks(1, dev.WarpSize()), y, x, float32(2))
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
