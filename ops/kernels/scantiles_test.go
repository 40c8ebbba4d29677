package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/ops/kernels"
)

func plus(a, b float32) float32 { return a + b }

func TestScanTiles(t *testing.T) {
	for _, c := range []struct{ rows, n, vec int }{{1, 512 * 7, 4}, {2, 512*5 + 4, 4}, {1, 512*3 + 77, 4}, {2, 1501, 1}, {1, 100, 2}} {
		tiles := (c.n + 511) / 512
		group := 2
		groups := (tiles + group - 1) / group
		w := splitRows(c.rows, c.n, 0, c.vec, 8)
		x := make([]float32, c.rows*c.n)
		for i := range x {
			x[i] = float32(i*7919%1000)/100 - 3
		}
		var bits [2][]float32
		for k := range bits {
			sums, tops := make([]float32, len(x)), make([]float32, len(x))
			scan := func(out []float32, init func(float32) float32, op func(a, b float32) float32) {
				atOnce(t, 2*c.rows*(tiles+groups), c.rows*tiles, func(th dsl.Thread, words []uint32) {
					kernels.ScanTiles(th, out, x, words, w, tiles, groups, group, 2, init, op, kernels.PackFloat, kernels.UnpackFloat)
				})
			}
			scan(sums, func(float32) float32 { return 0 }, plus)
			scan(tops, func(x float32) float32 { return x }, func(a, b float32) float32 { return max(a, b) })
			for r := range c.rows {
				sum, top := 0.0, math.Inf(-1)
				for i, v := range x[r*c.n:][:c.n] {
					sum, top = sum+float64(v), max(top, float64(v))
					assert.InDelta(t, sum, sums[r*c.n+i], 1e-2, "%v, element %d of row %d", c, i, r)
					assert.EqualValues(t, top, tops[r*c.n+i])
				}
			}
			bits[k] = sums
		}
		assert.Equal(t, bits[0], bits[1], "the order of additions is the same in every run")
	}
}

func TestScanKept(t *testing.T) {
	for _, c := range []struct {
		n    int
		full dsl.ConstBool
	}{{512, true}, {512, false}, {401, false}} {
		const rows = 5
		w := splitRows(rows, c.n, 0, 4, 8)
		if w.Full = c.full; c.n%4 != 0 {
			w.Vec = 1
		}
		x, sums, tops := make([]float32, rows*c.n), make([]float32, rows*c.n), make([]float32, rows*c.n)
		for i := range x {
			x[i] = float32(i*7919%1000)/100 - 3
		}
		assert.NoError(t, dsltest.Run(dsl.D1(2), dsl.D1(64), func(th dsl.Thread) {
			kernels.ScanKept(th, sums, x, w, func(float32) float32 { return 0 }, plus)
			kernels.ScanKept(th, tops, x, w, func(x float32) float32 { return x }, func(a, b float32) float32 { return max(a, b) })
		}))
		for r := range rows {
			sum, top := 0.0, math.Inf(-1)
			for i, v := range x[r*c.n:][:c.n] {
				sum, top = sum+float64(v), max(top, float64(v))
				assert.InDelta(t, sum, sums[r*c.n+i], 1e-2, "%v, element %d of row %d", c, i, r)
				assert.EqualValues(t, top, tops[r*c.n+i])
			}
		}
	}
}
