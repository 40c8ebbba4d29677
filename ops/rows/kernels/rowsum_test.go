package kernels_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	rowskernels "github.com/gokiln/kiln/ops/rows/kernels"
)

// Norms of sums are those of rows that have the sums already, bit by bit, wherever a row is kept.
func TestRowsOfSums(t *testing.T) {
	const rows, blocks = 5, 2
	for _, c := range []struct{ n, part, vec, items int }{{1024, 1024, 4, 16}, {1000, 1000, 4, 16}, {1001, 1001, 1, 16}, {2400, 800, 4, 16}, {1001, 512, 1, 16}} {
		w := splitRows(rows, c.n, c.part, c.vec, c.items)
		parts := (c.n + c.part - 1) / c.part
		x, a, total := make([]dsl.BF16, rows*c.n), make([]dsl.BF16, rows*c.n), make([]dsl.BF16, rows*c.n)
		xs, as, totals := make([]float32, rows*c.n), make([]float32, rows*c.n), make([]float32, rows*c.n)
		for i := range x {
			x[i], a[i] = dsl.To[dsl.BF16](float32(i*7919%1000)/100-3), dsl.To[dsl.BF16](float32(i*104729%1000)/300)
			total[i] = dsl.To[dsl.BF16](dsl.F32(x[i]) + dsl.F32(a[i]))
			xs[i], as[i] = float32(i*7919%1000)/100-3, float32(i*104729%1000)/300
			totals[i] = xs[i] + as[i]
		}
		scale, scales := make([]dsl.BF16, c.n), make([]float32, c.n)
		for i := range scale {
			scales[i] = float32(i%5) - 1
			scale[i] = dsl.To[dsl.BF16](scales[i])
		}
		for _, f := range []rowskernels.RowFn{{Norm: true, Scaled: true}, {Norm: true, Center: true, Scaled: true, Shifted: true}} {
			of := f
			of.Added = true
			same(t, total, func(out, sum []dsl.BF16, added bool) {
				kernel := func(th dsl.Thread, words []uint32) {
					if single := dsl.ConstBool(parts == 1); added {
						rowskernels.RowsSplit(th, out, x, scale, scale, a, sum, words, w, of, 0, parts, 1e-5, single, false)
					} else {
						rowskernels.RowsSplit(th, out, total, scale, scale, nil, nil, words, w, f, 0, parts, 1e-5, single, false)
					}
				}
				if parts > 1 {
					concurrently(t, 2*rows*parts, rows*parts, kernel)
				} else {
					assert.NoError(t, dsltest.Run(dsl.D1(rows), dsl.D1(64), func(th dsl.Thread) { kernel(th, nil) }))
				}
			})
			if parts > 1 {
				continue
			}
			same(t, total, func(out, sum []dsl.BF16, added bool) {
				assert.NoError(t, dsltest.Run(dsl.D1(blocks), dsl.D1(64), func(th dsl.Thread) {
					if added {
						rowskernels.RowsFetched(th, out, x, scale, scale, a, sum, w, of, 1, 1e-5)
					} else {
						rowskernels.RowsFetched(th, out, total, scale, scale, nil, nil, w, f, 1, 1e-5)
					}
				}))
			})
			same(t, totals, func(out, sum []float32, added bool) {
				assert.NoError(t, dsltest.Run(dsl.D1(blocks), dsl.D1(64), func(th dsl.Thread) {
					if added {
						rowskernels.RowsPrefetched(th, out, xs, scales, scales, as, sum, w, of, 1, 1e-5, false)
					} else {
						rowskernels.RowsPrefetched(th, out, totals, scales, scales, nil, nil, w, f, 1, 1e-5, false)
					}
				}))
			})
		}
	}
}

// same compares a norm of a sum with that of a row which is it.
func same[T dsl.BF16 | float32](t *testing.T, total []T, run func(out, sum []T, added bool)) {
	t.Helper()
	want, out, sum := make([]T, len(total)), make([]T, len(total)), make([]T, len(total))
	run(want, nil, false)
	run(out, sum, true)
	assert.Equal(t, total, sum)
	assert.Equal(t, want, out)
}
