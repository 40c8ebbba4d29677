package kernels

import "github.com/gokiln/kiln/dsl"

// SumThreads is the size of the blocks of [Sums] and [Norm].
const SumThreads = 256

// SumParts says what each tensor of a launch of [Sums] has.
type SumParts struct {
	End [Together]int32 // the block behind its last one
	At  [Together]int32 // where its sums are
	N   [Together]int   // its elements
}

// Sums stores sums of f of the elements of tensors: the sum of each block in out, from where those
// of its tensor are on. Blocks go through the elements of a tensor in a grid-stride loop.
//
//kiln:kernel
func Sums[O dsl.Number, C dsl.Real](t dsl.Thread, out []C, gs Slices[O], p SumParts, f func(x C) C) {
	block := int32(t.BlockX())
	g, from, end, at, n := gs.S0, int32(0), p.End[0], p.At[0], p.N[0]
	for k := 1; k < Together; k++ {
		if block >= p.End[k-1] {
			g, from, end, at, n = gs.at(k), p.End[k-1], p.End[k], p.At[k], p.N[k]
		}
	}
	var sum C
	threads := t.BlockDimX()
	for i := int(block-from)*threads + t.ThreadX(); i < n; i += int(end-from) * threads {
		sum += f(dsl.Convert[C](g[i]))
	}
	sum = dsl.BlockSum(t, sum)
	if t.ThreadX() == 0 {
		out[at+block-from] = sum
	}
}

// Square is x².
func Square[C dsl.Real](x C) C { return x * x }

// NotFinite is 1 where x is infinite or NaN, and else 0.
func NotFinite[C dsl.Real](x C) C {
	if dsl.IsNaN(x) || dsl.IsInf(x, 0) {
		return 1
	}
	return 0
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
