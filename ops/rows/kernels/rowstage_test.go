package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	rowskernels "github.com/gokiln/kiln/ops/rows/kernels"
)

var (
	layerNorm = rowskernels.RowFn{Norm: true, Center: true, Scaled: true, Shifted: true}
	rmsNorm   = rowskernels.RowFn{Norm: true, Scaled: true}
	bottom    = float32(math.Inf(-1))
)

// Two blocks go through five rows, of which the fourth is NaN in softmax.
func TestStagedRows(t *testing.T) {
	const rows, blocks = 5, 2
	for _, c := range []struct{ n, vec, keep int }{{2048, 4, 32}, {1000, 4, 16}, {1001, 1, 16}, {40, 4, 4}} {
		w := splitRows(rows, c.n, c.n, c.vec, c.keep)
		x, scale, shift := make([]float32, rows*c.n), make([]float32, c.n), make([]float32, c.n)
		for i := range x {
			x[i] = float32(i*7919%1000)/100 - 3
			scale[i%c.n], shift[i%c.n] = float32(i%c.n%5)-1, float32(i%c.n%3)
			switch i / c.n {
			case 1:
				x[i] += 1e4 // the mean counts
			case 3:
				x[i] = float32(math.Inf(-1))
			}
		}
		made := func(kernel func(th dsl.Thread, out []float32)) []float32 {
			out := make([]float32, len(x))
			assert.NoError(t, dsltest.Run(dsl.D1(blocks), dsl.D1(64), func(th dsl.Thread) { kernel(th, out) }))
			return out
		}
		softmax := made(func(th dsl.Thread, out []float32) {
			rowskernels.RowsPrefetched(th, out, x, nil, nil, nil, nil, w, rowskernels.RowFn{}, 1, bottom, false)
		})
		logs := made(func(th dsl.Thread, out []float32) {
			rowskernels.RowsPrefetched(th, out, x, nil, nil, nil, nil, w, rowskernels.RowFn{}, 1, bottom, true)
		})
		norm := made(func(th dsl.Thread, out []float32) {
			rowskernels.RowsPrefetched(th, out, x, scale, shift, nil, nil, w, layerNorm, 1, 1e-5, false)
		})
		rms := made(func(th dsl.Thread, out []float32) {
			rowskernels.RowsPrefetched(th, out, x, scale, nil, nil, nil, w, rmsNorm, 1, 1e-5, false)
		})
		fetched := made(func(th dsl.Thread, out []float32) {
			rowskernels.RowsFetched(th, out, x, scale, shift, nil, nil, w, layerNorm, 1, 1e-5)
		})
		fetchedRMS := made(func(th dsl.Thread, out []float32) {
			rowskernels.RowsFetched(th, out, x, scale, nil, nil, nil, w, rmsNorm, 1, 1e-5)
		})
		for r := range rows {
			row, n := x[r*c.n:][:c.n], float64(c.n)
			sum, sqr, exps, dist, top := 0.0, 0.0, 0.0, 0.0, math.Inf(-1)
			for _, v := range row {
				sum, sqr, top = sum+float64(v), sqr+float64(v)*float64(v), max(top, float64(v))
			}
			for _, v := range row {
				dist += (float64(v) - sum/n) * (float64(v) - sum/n)
				exps += math.Exp(float64(v) - top)
			}
			for i, v := range row {
				v, a, b, at := float64(v), float64(scale[i]), float64(shift[i]), r*c.n+i
				if r == 3 {
					assert.True(t, math.IsNaN(float64(softmax[at])) && math.IsNaN(float64(logs[at])))
					continue
				}
				assert.InEpsilon(t, math.Exp(v-top)/exps, softmax[at], 1e-6)
				assert.InDelta(t, v-top-math.Log(exps), logs[at], 4e-6)
				assert.InDelta(t, (v-sum/n)/math.Sqrt(dist/n+1e-5)*a+b, norm[at], 2e-3)
				assert.InDelta(t, v/math.Sqrt(sqr/n+1e-5)*a, rms[at], 1e-5)
				assert.InDelta(t, (v-sum/n)/math.Sqrt(dist/n+1e-5)*a+b, fetched[at], 2e-3)
				assert.InDelta(t, v/math.Sqrt(sqr/n+1e-5)*a, fetchedRMS[at], 1e-5)
			}
		}
	}
}
