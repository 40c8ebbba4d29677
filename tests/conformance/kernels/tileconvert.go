package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
)

// TileCross stores (x·yᵀ)ᵀ·z, for x of m×k, y of n×k and z of m×d in the order that then says:
// transposes of tiles of the first product are factors of the second one. A block has columns of the
// first product, which are rows of the result.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0 cfg.Bulk=false cfg.Cluster=1 cfg.OutSize=0 cfg.Promote=0 then.M=64 then.N=64 then.K=16 then.Down=1 then.Across=1 then.Stages=2 then.Chunk=2 then.A=1 then.B=0,1 then.Bulk=false then.Cluster=1 then.OutSize=0 then.Promote=0 cfg.AVec=true cfg.BVec=true then.AVec=true then.BVec=true
func TileCross[T dsl.Number, C dsl.Int | dsl.Uint | dsl.Real](t dsl.Thread, out []C, x, y, z []T, m, n, k, d int, cfg, then tile.Config) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	mad := func(a, b, c C) C { return a*b + c }
	col := t.BlockX() * int(cfg.N)
	b := tile.Factor[T]{Mem: y, At: col * k, Limit: n - col, Across: k, Along: 1}
	total := dsl.LocalSlice[C](then.Sums(t))
	for at := 0; at < m; at += int(cfg.M) {
		a := tile.Factor[T]{Mem: x, At: at * k, Limit: m - at, Across: k, Along: 1}
		c := tile.Factor[T]{Mem: z, At: at * d, Limit: d, Across: 1, Along: d}
		if then.B == tile.AlongK {
			c.At, c.Across, c.Along = at, m, 1
		}
		sums := dsl.LocalSlice[C](cfg.Sums(t))
		tile.Multiply(t, sums, a, b, k, &cfg, mad)
		tile.MultiplySums(t, total, sums, &cfg, c, min(m-at, int(cfg.M)), &then, mad)
	}
	tile.EachInside(t, x, total, n-col, d, &then, func(r, c int, v C) { out[(col+r)*d+c] = v })
}

// TileConvert converts scale·(x·yᵀ), for x and y of n×k, to type D and multiplies it by z of n×d, of
// type U, in order AcrossK. All of the first product is in the tile of a block. rows gets the sum of
// each of its rows, and out the second product, each row less that sum.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0 cfg.Bulk=false cfg.Cluster=1 cfg.OutSize=0 cfg.Promote=0 then.M=16 then.N=64 then.K=16 then.Down=1 then.Across=1 then.Stages=2 then.Chunk=2 then.A=0 then.B=1 then.Bulk=false then.Cluster=1 then.OutSize=0 then.Promote=0 cfg.AVec=true cfg.BVec=true then.AVec=true then.BVec=true
func TileConvert[T dsl.Number, C dsl.Int | dsl.Uint | dsl.Real, U dsl.Number, D dsl.Int | dsl.Uint | dsl.Real](t dsl.Thread, out, rows []D, x, y []T, z []U, n, k, d int, scale C, cfg, then tile.Config) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	a := tile.Factor[T]{Mem: x, Limit: n, Across: k, Along: 1}
	b := tile.Factor[T]{Mem: y, Limit: n, Across: k, Along: 1}
	sums := dsl.LocalSlice[C](cfg.Sums(t))
	tile.Multiply(t, sums, a, b, k, &cfg, func(a, b, c C) C { return a*b + c })
	tile.Map(t, x, sums, &cfg, func(_, _ int, v C) C { return v * scale })

	converted, totals := dsl.LocalSlice[D](cfg.Sums(t)), dsl.LocalSlice[D](tile.Rows[U, D](t, &cfg))
	tile.Convert(t, z, converted, x, sums, &cfg)
	tile.ReduceRows(t, z, converted, totals, &cfg, func(a, b D) D { return a + b })
	tile.EachRow(t, z, totals, &cfg, func(row, i int, first bool) {
		if first && row < n {
			rows[row] = totals[i]
		}
	})
	product := dsl.LocalSlice[D](then.Sums(t))
	c := tile.Factor[U]{Mem: z, Limit: d, Across: 1, Along: d}
	tile.MultiplySums(t, product, converted, &cfg, c, n, &then, func(a, b, c D) D { return a*b + c })
	tile.MapRows(t, z, product, totals, &then, func(_, _ int, v, total D) D { return v - total })
	tile.EachPair(t, z, product, &then, func(r, c, next int, v, v2 D) {
		if r < n && c < d {
			out[r*d+c] = v
		}
		if r < n && c+next < d {
			out[r*d+c+next] = v2
		}
	})
}
