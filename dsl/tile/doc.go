// Package tile multiplies matrices in kernels: a block owns a tile of the result, its warps parts of
// the tile, and factors come through shared memory in a pipeline of asynchronous copies.
//
//	sums := dsl.LocalSlice[float32](cfg.Sums(t))
//	a := tile.Factor[T]{Mem: x, At: row * stride, Limit: m - row, Across: stride, Along: 1}
//	b := tile.Factor[T]{Mem: y, At: col, Limit: n - col, Across: 1, Along: stride}
//	tile.Multiply(t, sums, a, b, k, &cfg, func(a, b, c float32) float32 { return dsl.FMA(a, b, c) })
//	tile.EachInside(t, x, sums, m-row, n-col, &cfg, func(r, c int, v float32) {
//		out[(row+r)*n+col+c] = v
//	})
//
// The same source runs on the matrix instructions of a device ([dsl.MMA]) and, where it has none for
// the type, in ordinary arithmetic. Which lane has which sum is the device's business:
// [EachInside] says where the result has it, and leaves out what is beyond the edge of the matrix;
// [EachPair] does so of two sums at a time. Products of 16-bit types are exact and their sums are in
// float32, in an order that differs between devices within a step of an instruction; so are those of
// TF32, of which matrix instructions read 10 bits of fraction. Those of other types are fused
// multiply-adds in their own type.
//
// Sums are combined by rows or columns ([ReduceRows]), each thread with sums of a row gets its result, and
// maps replace sums by what a Go function makes of them, of where they are, and of such a result
// ([Map], [MapRows]): masks, scales, a softmax. [EachTransposed] stores the transpose.
//
// [MultiplySums] has such sums as factor A of the next product, as attention has the weights of values:
// where a lane has the elements that it needs they stay in registers. It multiplies their transpose,
// too. [Convert] makes sums of another type of them, for what is computed in that.
//
// [Each] goes over several tiles. On devices with bulk copies (TMA) it has some warps copy for the
// others, if the factors have tensor maps, and [Store] stores results in that way.
//
// [EachFilled] does so for a factor B of which a function makes the elements, as of a matrix that is
// quantized: threads store them in shared memory while others multiply.
//
// What a kernel makes of sums before it stores them, its epilogue, is the function that EachPair or
// Store gets. For gated linear units a tile has columns of two factors (Factor.Gated), of which
// [EachGated] and [StoreGated] give both sums of an element.
//
// In shared memory a factor lies as in global memory, in rows of 128 bytes of which the 16-byte
// chunks are permuted (swizzled), so that rows as well as columns of chunks are in different banks.
package tile

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *[^t].go
var source embed.FS

var _ = dsl.Source(source)
