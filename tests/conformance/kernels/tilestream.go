package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
)

// TileStream stores, for x of m×k, y of n×k and z of n×d, the sum over tiles of rows of y and z of
// 2·(x·yᵀ)·z, of which each changes the sign of those before it, and every third tile is left out.
// If both is true, it is S·z + 3·(S − x·zᵀ − r%3)·y, for S = x·yᵀ·(1 + r%2), row r of y and z, and k equal
// to d.
//
//kiln:kernel
//kiln:const both=true,false turns=false wide=16 cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0 cfg.Bulk=false cfg.Cluster=1 cfg.OutSize=0 cfg.Promote=0 then.M=16 then.N=64 then.K=16 then.Down=1 then.Across=1 then.Stages=2 then.Chunk=2 then.A=0 then.B=1 then.Bulk=false then.Cluster=1 then.OutSize=0 then.Promote=0 cfg.AVec=true cfg.BVec=true then.AVec=true then.BVec=true
func TileStream[T dsl.Number, C dsl.Real](t dsl.Thread, xMap, yMap, zMap dsl.TensorMap, out []C, x, y, z []T, m, n, k, d int, both, turns dsl.ConstBool, wide dsl.ConstInt, cfg, then tile.Config) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	mad := func(a, b, c C) C { return a*b + c }
	row := t.BlockX() * int(cfg.M)
	a := tile.Factor[T]{Mem: x, At: row * k, Limit: m - row, Across: k, Along: 1, Map: xMap, Row: row}
	rowsOf := func(mem []T, tensor dsl.TensorMap, at, wide int) tile.Factor[T] {
		return tile.Factor[T]{Mem: mem, At: at * wide, Limit: n - at, Across: wide, Along: 1, Map: tensor, Row: at}
	}
	store := func(sums []C) {
		tile.EachInside(t, x, sums, m-row, d, &then, func(r, c int, v C) { out[(row+r)*d+c] = v })
	}
	if both {
		b := tile.Both[T]{A: a, A2: a, K: k, K2: d}
		tile.ChainBoth(t, &cfg, &then, &then, true, b, (n+int(cfg.N)-1)/int(cfg.N), mad, func(i int) (b, b2 tile.Factor[T], rows int) {
			at := i * int(cfg.N)
			return rowsOf(y, yMap, at, k), rowsOf(z, zMap, at, d), min(n-at, int(cfg.N))
		}, func(i, c int) (times, less C) {
			c += i * int(cfg.N)
			return C(1 + c%2), C(c % 3)
		}, func(_ int, less, s2 []C) {
			tile.MapColumns(t, x, s2, less, &cfg, func(_, _ int, _, less C) C { return less })
		}, func(_ int, times, s []C) {
			tile.MapColumns(t, x, s, times, &cfg, func(_, _ int, s, times C) C { return s * times * times })
		}, func(_ int, times, s, s2 []C) {
			tile.MapColumns(t, x, s, times, &cfg, func(_, _ int, s, times C) C { return s / times })
			for i := range int(cfg.Sums(t)) {
				s2[i] = s[i] - s2[i]
			}
		}, func(sums, sums2 []C) {
			for i := range int(then.Sums(t)) {
				sums[i] = 3*sums[i] + sums2[i]
			}
			store(sums)
		})
		return
	}
	tile.Chain(t, &cfg, &then, wide, turns, a, k, 0, n, mad, func(at int) bool { return at/int(cfg.N)%3 == 1 }, func(at int) (b, b2 tile.Factor[T], rows int) {
		b, b2 = rowsOf(y, yMap, at, k), rowsOf(z, zMap, at, d)
		if !cfg.Bulk {
			b2.Limit, b2.Across, b2.Along = d, 1, d
		}
		return b, b2, min(n-at, int(cfg.N))
	}, func(_ int, s []C) {
		tile.Map(t, x, s, &cfg, func(_, _ int, s C) C { return 2 * s })
	}, func(s []C) {
		tile.Map(t, x, s, &then, func(_, _ int, s C) C { return -s })
	}, store)
}
