package kernels_test

import (
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	core "github.com/gokiln/kiln/ops/kernels"
	rowskernels "github.com/gokiln/kiln/ops/rows/kernels"
)

func plus(a, b float32) float32 { return a + b }

// over divides by n.
func over(n int) core.Divisor {
	shift := bits.Len32(uint32(n - 1))
	return core.Divisor{By: uint32(n), Mul: uint32((1<<32*(1<<shift-uint64(n)))/uint64(n) + 1), Shift: uint32(shift)}
}

// inGroups divides tiles, and adjacent strips, among groups of two.
func inGroups(tiles, strips int) rowskernels.ScanTiling {
	return rowskernels.ScanTiling{Of: over(tiles), Strips: over(strips), Bits: 1, Groups: (tiles + 1) / 2}
}

func TestScanTiles(t *testing.T) {
	for _, c := range []struct{ rows, n, vec int }{{1, 512 * 7, 4}, {2, 512*5 + 4, 4}, {1, 512*3 + 77, 4}, {2, 1501, 1}, {1, 100, 2}} {
		tiles := (c.n + 511) / 512
		n := inGroups(tiles, 1)
		w := splitRows(c.rows, c.n, 0, c.vec, 8)
		x := make([]float32, c.rows*c.n)
		for i := range x {
			x[i] = float32(i*7919%1000)/128 - 3 // sums are exact
		}
		var runs [2][]float32
		for k := range runs {
			sums, tops := make([]float32, len(x)), make([]float32, len(x))
			scan := func(out []float32, init func(float32) float32, op func(a, b float32) float32) {
				concurrently(t, 2*c.rows*(tiles+n.Groups), c.rows*tiles, func(th dsl.Thread, words []uint32) {
					rowskernels.ScanTiles(th, out, x, words, w, n, 2, init, op, rowskernels.PackFloat, rowskernels.UnpackFloat)
				})
			}
			scan(sums, func(float32) float32 { return 0 }, plus)
			scan(tops, func(x float32) float32 { return x }, func(a, b float32) float32 { return max(a, b) })
			for r := range c.rows {
				sum, top := 0.0, math.Inf(-1)
				for i, v := range x[r*c.n:][:c.n] {
					sum, top = sum+float64(v), max(top, float64(v))
					assert.EqualValues(t, sum, sums[r*c.n+i], "%v, element %d of row %d", c, i, r)
					assert.EqualValues(t, top, tops[r*c.n+i])
				}
			}
			runs[k] = sums
		}
		assert.Equal(t, runs[0], runs[1], "the order of additions is the same in every run")
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
			x[i] = float32(i*7919%1000)/128 - 3 // sums are exact
		}
		assert.NoError(t, dsltest.Run(dsl.D1(2), dsl.D1(64), func(th dsl.Thread) {
			rowskernels.ScanKept(th, sums, x, w, func(float32) float32 { return 0 }, plus)
			th.Sync() // both have the same shared memory
			rowskernels.ScanKept(th, tops, x, w, func(x float32) float32 { return x }, func(a, b float32) float32 { return max(a, b) })
		}))
		for r := range rows {
			sum, top := 0.0, math.Inf(-1)
			for i, v := range x[r*c.n:][:c.n] {
				sum, top = sum+float64(v), max(top, float64(v))
				assert.EqualValues(t, sum, sums[r*c.n+i], "%v, element %d of row %d", c, i, r)
				assert.EqualValues(t, top, tops[r*c.n+i])
			}
		}
	}
}
