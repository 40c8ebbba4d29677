package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
)

// TileRows reduces a product of n×k by k×n, all of which is in the tile of a block: of the elements
// on and below the diagonal, rows gets n sums and n maxima of rows, and cols those of columns. out
// gets the transpose of these elements, converted, less the maximum of the row and with the sum of
// the column, times 16, and 0 for others and those more than 8 columns in front of the diagonal.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0 cfg.Bulk=false cfg.Cluster=1 cfg.OutSize=0 cfg.Promote=0 cfg.AVec=true cfg.BVec=true
func TileRows[T dsl.Number, C dsl.Int | dsl.Uint | dsl.Real](t dsl.Thread, out []int32, rows, cols []C, x, y []T, n, k int, lowest C, cfg tile.Config) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	a := tile.Factor[T]{Mem: x, Limit: n, Across: k, Along: 1}
	b := tile.Factor[T]{Mem: y, Limit: n, Across: k, Along: 1}
	sums := dsl.LocalSlice[C](cfg.Sums(t))
	tile.Multiply(t, sums, a, b, k, &cfg, func(a, b, c C) C { return a*b + c })

	add, larger := func(a, b C) C { return a + b }, func(a, b C) C { return max(a, b) }
	inside := func(row, col int) bool { return row < n && col <= row }
	rowSums, rowMax := dsl.LocalSlice[C](tile.Rows[T, C](t, &cfg)), dsl.LocalSlice[C](tile.Rows[T, C](t, &cfg))
	colSums, colMax := dsl.LocalSlice[C](tile.Columns[T, C](t, &cfg)), dsl.LocalSlice[C](tile.Columns[T, C](t, &cfg))
	tile.Map(t, x, sums, &cfg, func(row, col int, v C) C {
		if !inside(row, col) {
			return 0
		}
		return v
	})
	tile.ReduceRows(t, x, sums, rowSums, &cfg, add)
	tile.ReduceColumns(t, x, sums, colSums, &cfg, add)
	edge := dsl.LocalSlice[int32](tile.Rows[T, C](t, &cfg))
	tile.EachRow(t, x, sums, &cfg, func(row, i int, _ bool) {
		if edge[i] = int32(row + 1); row >= n {
			edge[i] = 0
		}
	})
	tile.KeepBefore(t, x, sums, edge, &cfg, lowest)
	tile.ReduceRows(t, x, sums, rowMax, &cfg, larger)
	tile.ReduceColumns(t, x, sums, colMax, &cfg, larger)
	tile.EachRow(t, x, sums, &cfg, func(row, i int, first bool) {
		if first && row < n {
			rows[row], rows[n+row] = rowSums[i], rowMax[i]
		}
	})
	tile.EachColumn(t, x, sums, &cfg, func(col, i int, first bool) {
		if first && col < n {
			cols[col], cols[n+col] = colSums[i], colMax[i]
		}
	})
	tile.MapRows(t, x, sums, rowMax, &cfg, func(row, col int, v, most C) C {
		if !inside(row, col) {
			return 0
		}
		return v - most
	})
	tile.MapColumns(t, x, sums, colSums, &cfg, func(row, col int, v, sum C) C {
		if !inside(row, col) {
			return 0
		}
		return v + sum
	})
	tile.EachRow(t, x, sums, &cfg, func(row, i int, _ bool) { edge[i] = int32(row - 8) })
	tile.KeepFrom(t, x, sums, edge, &cfg, 0)
	tile.Map(t, x, sums, &cfg, func(_, _ int, v C) C { return v * 16 })
	tile.EachTransposed(t, out, x, sums, &cfg, func(row, col int, v, v2 int32) {
		if col < n && row < n {
			out[col*n+row] = v
		}
		if col < n && row+1 < n {
			out[col*n+row+1] = v2
		}
	})
}
