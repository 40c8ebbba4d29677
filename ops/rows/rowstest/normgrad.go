package rowstest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/rows"
)

// NormGrad tests gradients of norms: with and without weights, a gradient to add, and statistics.
func NormGrad(t *testing.T, b *opstest.Bench) {
	shapes := []layout.Shape{{1}, {7}, {33, 5}, {3, 64}, {2, 3, 256}, {4, 300}, {9, 768}, {3, 1000}, {2, 4096}, {3, 9000}, {2, 40000}, {70, 24}}
	for _, center := range []bool{false, true} {
		for _, s := range shapes {
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				checkNormGrad(t, b, rows.NormGrad{Center: center, Scaled: true, Shift: center, Eps: testEps}, dtype.F32, s, true)
				k := rows.NormGrad{Center: center, Scaled: b.Rand.IntN(2) == 0, Shift: b.Rand.IntN(2) == 0, Eps: testEps}
				if d := dtype.Floats()[b.Rand.IntN(len(dtype.Floats()))]; b.Has(d) {
					checkNormGrad(t, b, k, d, s, b.Rand.IntN(2) == 0)
				}
			}, "center %v/%v", center, s)
		}
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			for _, d := range []dtype.DType{dtype.F16, dtype.BF16, dtype.F64} {
				if b.Has(d) {
					checkNormGrad(t, b, rows.NormGrad{Center: center, Scaled: true, Shift: true, Eps: testEps}, d, layout.Shape{19, 768}, true)
				}
			}
		}, "center %v/Types", center)
	}
	b.Part(t, func(t *testing.T, b *opstest.Bench) { normGradErrors(t, b) }, "Errors")
}

// checkNormGrad compares the gradients with those of float64.
func checkNormGrad(t *testing.T, b *opstest.Bench, k rows.NormGrad, d dtype.DType, s layout.Shape, added bool) {
	t.Helper()
	n := s[len(s)-1]
	count := s.Count() / n
	draw := func(low, high float64) func() dtype.Scalar {
		return func() dtype.Scalar { return dtype.FromFloat(d, low+b.Rand.Float64()*(high-low)) }
	}
	of := layout.Contiguous(s)
	x, g, out := b.Value(t, d, of, draw(-3, 5)), b.Value(t, d, of, draw(-1, 1)), b.Result(t, d, of)
	var also, scale, parts *opstest.Value
	var views [3]ops.View
	if added {
		also = b.Value(t, d, of, draw(-1, 1))
		views[0] = also.View
	}
	if k.Scaled {
		scale = b.Value(t, d, layout.Contiguous(layout.Shape{n}), draw(-2, 2))
		views[1] = scale.View
	}
	blocks := k.Parts(b.Device, d, count, n)
	require.Positive(t, blocks)
	weights := 0
	for _, has := range []bool{k.Scaled, k.Shift} {
		if has {
			weights++
		}
	}
	if weights > 0 {
		parts = b.Result(t, d.Compute(), layout.Contiguous(layout.Shape{weights, blocks, n}))
		views[2] = parts.View
	}
	require.NoError(t, k.Run(b.Stream, out.View, x.View, g.View, views[0], views[1], views[2]))

	ofScale, ofShift := make([]float64, n), make([]float64, n)
	got, slack := b.Read(t, out), 64*opstest.ULP(d.Compute(), 1)
	if d.Bits() < 32 {
		slack += 2 * opstest.ULP(d, 1)
	}
	for r := range count {
		at := func(v *opstest.Value, i int) float64 { return v.Want[r*n+i].Float() }
		mean, sqr, dot, total := 0.0, 0.0, 0.0, 0.0
		e, u := make([]float64, n), make([]float64, n)
		for i := range n {
			if k.Center {
				mean += at(x, i) / float64(n)
			}
		}
		for i := range n {
			sqr += (at(x, i) - mean) * (at(x, i) - mean) / float64(n)
		}
		f := 1 / math.Sqrt(sqr+testEps)
		for i := range n {
			u[i], e[i] = (at(x, i)-mean)*f, at(g, i)
			ofScale[i] += e[i] * u[i]
			ofShift[i] += e[i]
			if k.Scaled {
				e[i] *= scale.Want[i].Float()
			}
			dot += e[i] * u[i] / float64(n)
			if k.Center {
				total += e[i] / float64(n)
			}
		}
		for i := range n {
			want := (e[i] - total - dot*u[i]) * f
			if added {
				want += at(also, i)
			}
			bound := slack * max(1, f) * max(1, math.Abs(e[i]), math.Abs(dot*u[i]))
			require.InDelta(t, want, got[r*n+i].Float(), bound, "row %d, element %d of %v %s %+v", r, i, s, d, k)
		}
	}
	if weights == 0 {
		return
	}
	sums := b.Read(t, parts)
	for w, want := range map[bool][]float64{false: ofScale, true: ofShift} {
		if row := 0; (w && k.Shift) || (!w && k.Scaled) {
			if w {
				row = weights - 1
			}
			for i := range n {
				sum := 0.0
				for p := range blocks {
					sum += sums[(row*blocks+p)*n+i].Float()
				}
				bound := 256 * float64(count) * opstest.ULP(d.Compute(), 1)
				require.InDelta(t, want[i], sum, bound, "shift %v, element %d of %v %s %+v", w, i, s, d, k)
			}
		}
	}
}

// normGradErrors are operands that do not fit each other.
func normGradErrors(t *testing.T, b *opstest.Bench) {
	x, other := b.Cycle(t, dtype.F32, layout.Shape{4, 3}, 1, 2), b.Cycle(t, dtype.F32, layout.Shape{3, 4}, 1)
	out := b.Result(t, dtype.F32, x.Layout)
	k := rows.NormGrad{Eps: testEps}
	require.Positive(t, k.Parts(b.Device, dtype.F32, 4, 3))
	require.NoError(t, k.Run(b.Stream, out.View, x.View, x.View, ops.View{}, ops.View{}, ops.View{}))
	require.ErrorIs(t, k.Run(b.Stream, out.View, x.View, other.View, ops.View{}, ops.View{}, ops.View{}), layout.ErrShape)
	require.ErrorIs(t, k.Run(b.Stream, other.View, other.View, other.View, ops.View{}, ops.View{}, ops.View{}), layout.ErrShape)
	number := b.Cycle(t, dtype.F64, layout.Shape{4, 3}, 1)
	require.ErrorIs(t, k.Run(b.Stream, out.View, x.View, number.View, ops.View{}, ops.View{}, ops.View{}), ops.ErrDType)
	flipped := other.View
	var err error
	flipped.Layout, err = flipped.Layout.Permute(1, 0)
	require.NoError(t, err)
	require.ErrorContains(t, k.Run(b.Stream, out.View, x.View, flipped, ops.View{}, ops.View{}, ops.View{}), "strides")
	require.Zero(t, k.Parts(b.Device, dtype.F32, 0, 3))
	require.Zero(t, k.Parts(b.Device, dtype.F32, 3, 0))
}
