package kernels

import "github.com/gokiln/kiln/dsl"

// TreeParts is how many results of each thread Trees writes.
const TreeParts = 9

// Trees combines the values of each block and of its warps in every way that has a
// fixed order.
//
//kiln:kernel
func Trees[T dsl.Word](t dsl.Thread, out, x []T) {
	n, i := t.BlockSize(), t.ThreadIndex()
	trees(t, out[t.BlockX()*n*TreeParts+i:], x[t.BlockX()*n+i])
}

// HalfTrees does so with halves, added as floats.
//
//kiln:kernel
func HalfTrees[T dsl.F16 | dsl.BF16](t dsl.Thread, out []float32, x []T) {
	n, i := t.BlockSize(), t.ThreadIndex()
	trees(t, out[t.BlockX()*n*TreeParts+i:], dsl.F32(x[t.BlockX()*n+i]))
}

func trees[T dsl.Word](t dsl.Thread, o []T, v T) {
	n := t.BlockSize()
	o[0] = dsl.BlockSum(t, v)
	o[n] = dsl.BlockMax(t, v)
	o[2*n] = dsl.BlockMin(t, v)
	o[3*n] = dsl.BlockScanSum(t, v)
	o[4*n] = dsl.BlockScanExclusive(t, v)
	o[5*n] = dsl.WarpSum(t, v)
	o[6*n] = dsl.WarpScanSum(t, v)
	o[7*n] = dsl.WarpScanExclusive(t, v)
	o[8*n] = dsl.WarpReduce(t, v, func(a, b T) T { return a/2 + b/2 })
}

// SumDecides meets at barriers in a loop that a sum over the block ends: the compiler
// has to know that all threads have the same.
//
//kiln:kernel
func SumDecides(t dsl.Thread, out, x []float32) {
	v := x[t.Global()]
	for dsl.BlockSum(t, v) > 1 {
		v /= 2
	}
	out[t.Global()] = v
}
