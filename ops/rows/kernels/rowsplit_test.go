package kernels_test

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	rowskernels "github.com/gokiln/kiln/ops/rows/kernels"
)

// concurrently runs blocks of 64 threads that wait for each other, all at the same time.
func concurrently(t *testing.T, status, blocks int, kernel func(t dsl.Thread, words []uint32)) {
	t.Helper()
	words := make([]uint32, rowskernels.HeadWords+status)
	errs := make([]error, blocks)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			errs[i] = dsltest.Run(dsl.D1(1), dsl.D1(64), func(t dsl.Thread) { kernel(t, words) })
		})
	}
	all.Wait()
	for _, err := range errs {
		assert.NoError(t, err)
	}
}

// splitRows is rows of n elements in parts, of which a thread keeps some elements.
func splitRows(rows, n, part, vec, keep int) rowskernels.RowReduction {
	w := rowskernels.RowReduction{Block: 64, Vec: dsl.ConstInt(vec), Contiguous: true, Outs: 1, Ins: 1, Items: dsl.ConstInt(keep), N: n, Part: part, Rows: rows, Full: dsl.ConstBool(part == 64*keep && n%part == 0)}
	w.OutSize[0], w.XStep[0], w.OutStep[0], w.Wide = rows, n, n, true
	return w
}

func TestSplitRows(t *testing.T) {
	for _, c := range []struct{ n, part, vec int }{{2048, 1024, 4}, {2400, 800, 4}, {1200, 512, 8}, {1001, 512, 1}, {300, 512, 4}} {
		const rows = 3
		parts := (c.n + c.part - 1) / c.part
		w := splitRows(rows, c.n, c.part, c.vec, 16)
		x, scale, shift := make([]float32, rows*c.n), make([]float32, c.n), make([]float32, c.n)
		for i := range x {
			x[i] = float32(i*7919%1000)/100 - 3
			scale[i%c.n], shift[i%c.n] = float32(i%c.n%5)-1, float32(i%c.n%3)
		}
		for i := range c.n {
			x[c.n+i] += 1e4 // the mean counts
		}
		for r := range min(c.part, c.n) {
			x[2*c.n+r] = float32(math.Inf(-1)) // a part without a finite element
		}
		softmax, logs, norm, rms := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
		concurrently(t, 2*rows*parts, rows*parts, func(th dsl.Thread, words []uint32) {
			rowskernels.RowsSplit(th, softmax, x, nil, nil, nil, nil, words, w, rowskernels.RowFn{}, 0, parts, bottom, false, false)
		})
		concurrently(t, 2*rows*parts, rows*parts, func(th dsl.Thread, words []uint32) {
			rowskernels.RowsSplit(th, logs, x, nil, nil, nil, nil, words, w, rowskernels.RowFn{}, 0, parts, bottom, false, true)
		})
		concurrently(t, 4*parts, 2*parts, func(th dsl.Thread, words []uint32) {
			rowskernels.RowsSplit(th, norm, x, scale, shift, nil, nil, words, w, layerNorm, 0, parts, 1e-5, false, false)
		})
		concurrently(t, 4*parts, 2*parts, func(th dsl.Thread, words []uint32) {
			rowskernels.RowsSplit(th, rms, x, scale, nil, nil, nil, words, w, rmsNorm, 0, parts, 1e-5, false, false)
		})
		if parts == 1 {
			one, two := make([]float32, len(x)), make([]float32, len(x))
			assert.NoError(t, dsltest.Run(dsl.D1(2), dsl.D1(64), func(th dsl.Thread) {
				rowskernels.RowsSplit(th, one, x, nil, nil, nil, nil, nil, w, rowskernels.RowFn{}, 0, 1, bottom, true, false)
				rowskernels.RowsSplit(th, two, x, scale, shift, nil, nil, nil, w, layerNorm, 0, 1, 1e-5, true, false)
			}))
			assert.InDeltaSlice(t, softmax[:2*c.n], one[:2*c.n], 1e-6, "a row for itself")
			assert.InDeltaSlice(t, norm[:2*c.n], two[:2*c.n], 1e-5, "a row for itself")
		}
		for r := range rows {
			row := x[r*c.n:][:c.n]
			sum, sqr, exps, top := 0.0, 0.0, 0.0, math.Inf(-1)
			for _, v := range row {
				sum, sqr, top = sum+float64(v), sqr+float64(v)*float64(v), max(top, float64(v))
			}
			mean, dist := sum/float64(c.n), 0.0
			for _, v := range row {
				dist += (float64(v) - mean) * (float64(v) - mean)
				exps += math.Exp(float64(v) - top)
			}
			for i, v := range row {
				v, a, b := float64(v), float64(scale[i]), float64(shift[i])
				if parts == 1 && r == 2 {
					assert.True(t, math.IsNaN(float64(softmax[r*c.n+i])) && math.IsNaN(float64(logs[r*c.n+i])))
					continue
				}
				assert.InDelta(t, math.Exp(v-top)/exps, softmax[r*c.n+i], 1e-6)
				if !math.IsInf(v, 0) {
					assert.InDelta(t, v-top-math.Log(exps), logs[r*c.n+i], 4e-6)
				}
				if r < 2 {
					assert.InDelta(t, (v-mean)/math.Sqrt(dist/float64(c.n)+1e-5)*a+b, norm[r*c.n+i], 2e-3)
					assert.InDelta(t, v/math.Sqrt(sqr/float64(c.n)+1e-5)*a, rms[r*c.n+i], 1e-5)
				}
			}
		}
	}
}
