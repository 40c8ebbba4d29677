package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/dsl"
	rowskernels "github.com/gokiln/kiln/ops/rows/kernels"
)

var columnCases = []struct{ matrices, n, width, vec, keep int }{{1, 256, 32, 4, 4}, {2, 200, 24, 8, 2}, {1, 330, 17, 1, 16}, {1, 50, 16, 4, 4}}

func TestScanStrips(t *testing.T) {
	for _, c := range columnCases {
		w, strips, tiles := columns(c.matrices, c.n, c.width, c.vec, c.keep)
		if w.InFlight = 1; c.vec > 1 {
			w.InFlight = 2
		}
		n := inGroups(tiles, strips)
		x := make([]float32, c.matrices*c.n*c.width)
		for i := range x {
			x[i] = float32(i*7919%1000)/128 - 3 // sums are exact
		}
		var bits [2][]float32
		for k := range bits {
			sums, tops := make([]float32, len(x)), make([]float32, len(x))
			scan := func(out []float32, init func(float32) float32, op func(a, b float32) float32) {
				concurrently(t, c.matrices*strips*(tiles+n.Groups)*16, c.matrices*strips*tiles, func(th dsl.Thread, words []uint32) {
					rowskernels.ScanStrips(th, out, x, words, w, n, 1, init, op, rowskernels.PackFloat, rowskernels.UnpackFloat)
				})
			}
			w.Tree = true
			scan(sums, func(float32) float32 { return 0 }, plus)
			w.Tree = false
			scan(tops, func(x float32) float32 { return x }, func(a, b float32) float32 { return max(a, b) })
			eachColumn(c.matrices, c.n, c.width, func(at func(i int) int) {
				sum, top := 0.0, math.Inf(-1)
				for i := range c.n {
					v := float64(x[at(i)])
					sum, top = sum+v, max(top, v)
					assert.EqualValues(t, sum, sums[at(i)], "%v, element %d of a column", c, i)
					assert.EqualValues(t, top, tops[at(i)])
				}
			})
			bits[k] = sums
		}
		assert.Equal(t, bits[0], bits[1], "the order of additions is the same in every run")
	}
}
