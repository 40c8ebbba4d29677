package kernels

import "github.com/gokiln/kiln/dsl"

// SumThreads is the size of the blocks of [Squares] and [Norm].
const SumThreads = 256

// Squares stores the sums of the squares of the elements of g that each block takes, in out from
// at on. Blocks go through the elements in a grid-stride loop.
//
//kiln:kernel
func Squares[O dsl.Number, C dsl.Real](t dsl.Thread, out []C, g []O, n, at int) {
	var sum C
	for i := t.Global(); i < n; i += t.GlobalSize() {
		x := dsl.Convert[C](g[i])
		sum += x * x
	}
	sum = dsl.BlockSum(t, sum)
	if t.ThreadX() == 0 {
		out[at+t.BlockX()] = sum
	}
}

// Norm stores the square root of the sum of n partial sums in out[0], and in out[1] the factor that
// brings a vector of this norm down to most: most / (norm + 1e-6), but at most 1, times by.
// One block computes it.
//
//kiln:kernel
func Norm[C dsl.Real](t dsl.Thread, out, parts []C, n int, most, by C) {
	var sum C
	for i := t.ThreadX(); i < n; i += t.BlockDimX() {
		sum += parts[i]
	}
	sum = dsl.BlockSum(t, sum)
	if t.ThreadX() == 0 {
		norm := dsl.Sqrt(sum) * by
		out[0] = norm
		out[1] = min(most/(norm+1e-6), 1) * by
	}
}

// Scale stores g times scale[0].
//
//kiln:kernel
func Scale[O dsl.Number, C dsl.Real](t dsl.Thread, out, g []O, scale []C, n int) {
	by := scale[0]
	if i := t.Global(); i < n {
		out[i] = dsl.Convert[O](dsl.Convert[C](g[i]) * by)
	}
}

// NotFinite stores, in out from at on, how many elements of g that each block takes are infinite or
// NaN: as [Squares] stores sums.
//
//kiln:kernel
func NotFinite[O dsl.Number, C dsl.Real](t dsl.Thread, out []C, g []O, n, at int) {
	var sum C
	for i := t.Global(); i < n; i += t.GlobalSize() {
		if x := dsl.Convert[C](g[i]); dsl.IsNaN(x) || dsl.IsInf(x, 0) {
			sum++
		}
	}
	sum = dsl.BlockSum(t, sum)
	if t.ThreadX() == 0 {
		out[at+t.BlockX()] = sum
	}
}

// Accumulate adds g times by to sum, or stores it where it is the first.
//
//kiln:kernel
func Accumulate[O dsl.Number, C dsl.Real](t dsl.Thread, sum []C, g []O, by C, n int, first dsl.ConstBool) {
	if i := t.Global(); i < n {
		x := dsl.Convert[C](g[i]) * by
		if !first {
			x += sum[i]
		}
		sum[i] = x
	}
}

// Average moves a running average by a part of the way to x.
//
//kiln:kernel
func Average[O dsl.Number, C dsl.Real](t dsl.Thread, average []C, x []O, by C, n int) {
	if i := t.Global(); i < n {
		average[i] += by * (dsl.Convert[C](x[i]) - average[i])
	}
}
