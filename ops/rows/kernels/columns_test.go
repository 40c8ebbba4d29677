package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	rowskernels "github.com/gokiln/kiln/ops/rows/kernels"
)

// columns is matrices of n rows in tiles of 16 columns, of which a thread of 64 loads keep
// vectors.
func columns(matrices, n, width, vec, keep int) (w rowskernels.RowReduction, strips, tiles int) {
	w = rowskernels.RowReduction{Block: 64, Vec: dsl.ConstInt(vec), Items: dsl.ConstInt(keep), Cols: 16, InFlight: 16, Contiguous: true, Outs: 2, Ins: 1, N: n, Rows: matrices, Width: width, OutIn: width}
	w.OutSize[0], w.OutSize[1], w.XStep[0], w.XStep[1], w.OutStep[0], w.OutStep[1] = width, matrices, 1, n*width, 1, n*width
	w.InSize[0], w.InStep[0] = n, width
	rows := 4 * vec * keep
	return w, (width + 15) / 16, (n + rows - 1) / rows
}

// eachColumn calls f for each column of matrices with where its elements are.
func eachColumn(matrices, n, width int, f func(at func(i int) int)) {
	for m := range matrices {
		for c := range width {
			f(func(i int) int { return (m*n+i)*width + c })
		}
	}
}

func TestReduceStrips(t *testing.T) {
	for _, c := range []struct{ matrices, n, width, vec int }{{1, 700, 32, 4}, {2, 131, 24, 8}, {1, 5, 16, 4}, {1, 1000, 36, 4}} {
		w, _, _ := columns(c.matrices, c.n, c.width, c.vec, 1)
		w.Group, w.Block, w.Div = 4, 128, c.n-1
		x := make([]float32, c.matrices*c.n*c.width)
		for i := range x {
			x[i] = float32(i*7919%1000)/128 - 3 // sums are exact
		}
		x[c.width*(c.n/2)+1], x[c.width*(c.n-1)+1] = float32(math.NaN()), float32(math.NaN())
		w.OutStep[1] = c.width // results have no rows
		results := c.matrices * c.width
		sums, vars, at := make([]float32, results), make([]float32, results), make([]uint32, results)
		grid := dsl.D3((c.width+4*c.vec-1)/(4*c.vec), 1, c.matrices)
		assert.NoError(t, dsltest.Run(grid, dsl.D1(128), func(th dsl.Thread) {
			rowskernels.ReduceStrips(th, sums, x, w, rowskernels.FromZero[float32], rowskernels.AddStep[float32], rowskernels.Plus[float32], rowskernels.Value[float32])
			w := w
			w.Form = rowskernels.Triple
			rowskernels.ReduceStrips(th, vars, x, w, rowskernels.FromZero[float32], rowskernels.MomentStep[float32], rowskernels.Moments[float32], rowskernels.Variance[float32])
			w.Form = rowskernels.Indexed
			rowskernels.ReduceStrips(th, at, x, w, rowskernels.FromFirst[float32], rowskernels.MaxStep[float32], rowskernels.Larger[float32], rowskernels.Index[float32])
		}))
		i := 0
		eachColumn(c.matrices, c.n, c.width, func(in func(i int) int) {
			sum, dist, top := 0.0, 0.0, 0
			for j := range c.n {
				v, best := x[in(j)], x[in(top)]
				sum += float64(v)
				if best == best && (v > best || v != v) {
					top = j
				}
			}
			for j := range c.n {
				d := float64(x[in(j)]) - sum/float64(c.n)
				dist += d * d
			}
			assert.EqualValues(t, top, at[i], "%v, column %d", c, i)
			if math.IsNaN(sum) {
				assert.True(t, math.IsNaN(float64(sums[i])) && math.IsNaN(float64(vars[i])), "%v, column %d", c, i)
			} else {
				assert.EqualValues(t, sum, sums[i], "%v, column %d", c, i)
				assert.InEpsilon(t, dist/float64(c.n-1), vars[i], 1e-4, "%v, column %d", c, i)
			}
			i++
		})
	}
}

func TestSoftmaxDown(t *testing.T) {
	low := math.Inf(-1)
	for _, c := range []struct{ matrices, n, width, vec int }{{1, 700, 32, 4}, {2, 131, 24, 8}, {1, 300, 36, 4}} {
		w, _, _ := columns(c.matrices, c.n, c.width, c.vec, 1)
		x := make([]float32, c.matrices*c.n*c.width)
		for i := range x {
			x[i] = float32(i*7919%1000)/128 - 3 // sums are exact
		}
		for i := range c.n {
			x[i*c.width+2] = float32(low) // a column without a finite element
			if i < c.n/2 {
				x[i*c.width] = float32(low)
			}
		}
		x[3], x[4] = float32(math.NaN()), float32(math.Inf(1))
		for _, log := range []dsl.ConstBool{false, true} {
			m, s, out := make([]float32, c.matrices*c.width), make([]float32, c.matrices*c.width), make([]float32, len(x))
			last := rowskernels.Inverse[float32]
			if log {
				last = rowskernels.Logarithm[float32]
			}
			assert.NoError(t, dsltest.Run(dsl.D3((c.width+4*c.vec-1)/(4*c.vec), 1, c.matrices), dsl.D1(128), func(th dsl.Thread) {
				w := w
				w.Form, w.Group, w.Block = rowskernels.Pair, 4, 128
				rowskernels.KeepStrips(th, m, s, x, w, 0, 0, rowskernels.FromBottom[float32], rowskernels.AddExp[float32], rowskernels.JoinExp[float32], last)
			}))
			assert.NoError(t, dsltest.Run(dsl.D3((c.width+4*c.vec-1)/(4*c.vec), (c.n+99)/100, c.matrices), dsl.D1(32), func(th dsl.Thread) {
				w := w
				w.Group, w.Block, w.Part = 4, 32, 100
				rowskernels.ShareStrips(th, out, x, m, s, w, log, false)
			}))
			eachColumn(c.matrices, c.n, c.width, func(at func(i int) int) { softmaxIs(t, x, out, c.n, bool(log), at) })
		}
	}
}

// softmaxIs compares a column with the softmax of x.
func softmaxIs(t *testing.T, x, out []float32, n int, log bool, at func(i int) int) {
	t.Helper()
	top, sum := math.Inf(-1), 0.0
	for i := range n {
		top = max(top, float64(x[at(i)]))
	}
	for i := range n {
		sum += math.Exp(float64(x[at(i)]) - top)
	}
	for i := range n {
		want := float64(x[at(i)]) - top - math.Log(sum)
		if !log {
			want = math.Exp(want)
		}
		got := float64(out[at(i)])
		if math.IsNaN(want) || math.IsInf(want, 0) {
			assert.True(t, got == want || math.IsNaN(got) && math.IsNaN(want), "element %d of the column at %d is %v, want %v", i, at(0), got, want)
			continue
		}
		assert.InDelta(t, want, got, 1e-5*max(1e-3, math.Abs(want)), "element %d of the column at %d", i, at(0))
	}
}
