package tile_test

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/dsl/tile"
)

var config = tile.Config{M: 16, N: 32, K: 32, Down: 1, Across: 2, Stages: 2, Chunk: 4}

// Causal makes weights of each row of x·xᵀ, n rows of k numbers: they add up to 1, and those behind the
// diagonal are 0.
func Causal(t dsl.Thread, out, x []float32, n, k int, cfg tile.Config) {
	f := tile.Factor[float32]{Mem: x, Limit: n, Across: k, Along: 1}
	sums := dsl.LocalSlice[float32](cfg.Sums(t))
	tile.Multiply(t, sums, f, f, k, &cfg, func(a, b, c float32) float32 { return dsl.FMA(a, b, c) })
	tile.Map(t, x, sums, &cfg, func(row, col int, v float32) float32 {
		if col > row || row >= n {
			return 0
		}
		return v
	})
	total := dsl.LocalSlice[float32](tile.Rows[float32, float32](t, &cfg))
	tile.ReduceRows(t, x, sums, total, &cfg, func(a, b float32) float32 { return a + b })
	tile.MapRows(t, x, sums, total, &cfg, func(_, _ int, v, total float32) float32 { return v / total })
	tile.EachInside(t, x, sums, n, n, &cfg, func(row, col int, v float32) { out[row*n+col] = v })
}

func ExampleReduceRows() {
	out := make([]float32, 9)
	err := dsltest.Run(dsl.D1(1), dsl.D1(32), func(t dsl.Thread) {
		Causal(t, out, []float32{1, 0, 1, 1, 1, 3}, 3, 2, config)
	}, dsltest.WarpSize(16))
	fmt.Println(out[:3], out[3:6], out[6:], err)
	// Output: [1 0 0] [0.33333334 0.6666667 0] [0.06666667 0.26666668 0.6666667] <nil>
}

// Pairs stores the product of every number of x with every number of y, those of one of y together, and
// the largest of these.
func Pairs(t dsl.Thread, out, most, x, y []float32, n int, cfg tile.Config) {
	sums := dsl.LocalSlice[float32](cfg.Sums(t))
	a, b := tile.Factor[float32]{Mem: x, Limit: n, Across: 1, Along: 1}, tile.Factor[float32]{Mem: y, Limit: n, Across: 1, Along: 1}
	tile.Multiply(t, sums, a, b, 1, &cfg, func(a, b, c float32) float32 { return dsl.FMA(a, b, c) })
	tile.EachTransposed(t, out, x, sums, &cfg, func(row, col int, v, v2 float32) {
		if row+1 < n && col < n {
			out[col*n+row], out[col*n+row+1] = v, v2
		}
	})
	largest := dsl.LocalSlice[float32](tile.Columns[float32, float32](t, &cfg))
	tile.ReduceColumns(t, x, sums, largest, &cfg, func(a, b float32) float32 { return max(a, b) })
	tile.EachColumn(t, x, sums, &cfg, func(col, i int, first bool) {
		if first && col < n {
			most[col] = largest[i]
		}
	})
}

func ExampleEachTransposed() {
	out, most := make([]float32, 16), make([]float32, 4)
	err := dsltest.Run(dsl.D1(1), dsl.D1(32), func(t dsl.Thread) {
		Pairs(t, out, most, []float32{1, 2, 3, 4}, []float32{1, 10, 100, 1000}, 4, config)
	}, dsltest.WarpSize(16))
	fmt.Println(out[:4], out[4:8], out[8:12], out[12:], most, err)
	// Output: [1 2 3 4] [10 20 30 40] [100 200 300 400] [1000 2000 3000 4000] [4 40 400 4000] <nil>
}

// Twice stores (x·y)·z, of matrices of n×n numbers, n not above 16.
func Twice(t dsl.Thread, out, x, y, z []float32, n int, cfg tile.Config) {
	mad := func(a, b, c float32) float32 { return dsl.FMA(a, b, c) }
	sums, product := dsl.LocalSlice[float32](cfg.Sums(t)), dsl.LocalSlice[float32](cfg.Sums(t))
	tile.Multiply(t, product, tile.Factor[float32]{Mem: x, Limit: n, Across: n, Along: 1}, tile.Factor[float32]{Mem: y, Limit: n, Across: 1, Along: n}, n, &cfg, mad)
	tile.MultiplySums(t, sums, product, &cfg, tile.Factor[float32]{Mem: z, Limit: n, Across: 1, Along: n}, n, &cfg, mad)
	tile.EachInside(t, x, sums, n, n, &cfg, func(row, col int, v float32) { out[row*n+col] = v })
}

func ExampleMultiplySums() {
	out := make([]float32, 4)
	cfg := config
	cfg.B = tile.AcrossK
	err := dsltest.Run(dsl.D1(1), dsl.D1(32), func(t dsl.Thread) {
		Twice(t, out, []float32{1, 1, 0, 1}, []float32{1, 2, 3, 4}, []float32{0, 1, 1, 0}, 2, cfg)
	}, dsltest.WarpSize(16))
	fmt.Println(out, err)
	// Output: [6 4 4 3] <nil>
}

// Gram stores (x·x)ᵀ·x, of a matrix of n×n numbers, n not above 16.
func Gram(t dsl.Thread, out, x []float32, n int, cfg, then tile.Config) {
	mad := func(a, b, c float32) float32 { return dsl.FMA(a, b, c) }
	rows, columns := tile.Factor[float32]{Mem: x, Limit: n, Across: n, Along: 1}, tile.Factor[float32]{Mem: x, Limit: n, Across: 1, Along: n}
	square, sums := dsl.LocalSlice[float32](cfg.Sums(t)), dsl.LocalSlice[float32](then.Sums(t))
	tile.Multiply(t, square, rows, columns, n, &cfg, mad)
	tile.MultiplySums(t, sums, square, &cfg, columns, n, &then, mad) // then.A is AcrossK
	tile.EachInside(t, x, sums, n, n, &then, func(row, col int, v float32) { out[row*n+col] = v })
}

func ExampleMultiplySums_transpose() {
	out := make([]float32, 4)
	cfg := tile.Config{M: 32, N: 32, K: 32, Down: 1, Across: 2, Stages: 2, Chunk: 4, B: tile.AcrossK}
	then := cfg
	then.A = tile.AcrossK
	err := dsltest.Run(dsl.D1(1), dsl.D1(32), func(t dsl.Thread) {
		Gram(t, out, []float32{1, 2, 0, 1}, 2, cfg, then)
	}, dsltest.WarpSize(16))
	fmt.Println(out, err)
	// Output: [1 2 4 9] <nil>
}

// Similar makes of n rows of k bytes how near they are to each other: the largest product of a row
// becomes 1. Products are added up as integers, and go on as numbers.
func Similar(t dsl.Thread, out []float32, x []int8, n, k int, cfg tile.Config) {
	f := tile.Factor[int8]{Mem: x, Limit: n, Across: k, Along: 1}
	sums, near := dsl.LocalSlice[int32](cfg.Sums(t)), dsl.LocalSlice[float32](cfg.Sums(t))
	tile.Multiply(t, sums, f, f, k, &cfg, func(a, b, c int32) int32 { return a*b + c })
	tile.Convert(t, out, near, x, sums, &cfg)
	most := dsl.LocalSlice[float32](tile.Rows[float32, float32](t, &cfg))
	tile.ReduceRows(t, out, near, most, &cfg, func(a, b float32) float32 { return max(a, b) })
	tile.MapRows(t, out, near, most, &cfg, func(_, _ int, v, most float32) float32 { return v / most })
	tile.EachInside(t, out, near, n, n, &cfg, func(row, col int, v float32) { out[row*n+col] = v })
}

func ExampleConvert() {
	out := make([]float32, 4)
	cfg := tile.Config{M: 16, N: 32, K: 128, Down: 1, Across: 2, Stages: 2, Chunk: 16}
	err := dsltest.Run(dsl.D1(1), dsl.D1(32), func(t dsl.Thread) {
		Similar(t, out, []int8{3, 4, 4, 0}, 2, 2, cfg)
	}, dsltest.WarpSize(16))
	fmt.Println(out, err)
	// Output: [1 0.48 0.75 1] <nil>
}
