package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
)

// Tiles stores the product of an m×k and a k×n matrix, in the orders that cfg says: a row of x, or a
// column, is stride elements behind the one before, and so it is with y. The maps describe x, y and
// out, if cfg says Bulk, and has an OutSize.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0,1 cfg.Bulk=false cfg.Cluster=1 cfg.OutSize=0 cfg.Promote=0
func Tiles[T dsl.Number, C dsl.Int | dsl.Uint | dsl.Real](t dsl.Thread, xMap, yMap, outMap dsl.TensorMap, out []C, x, y []T, m, n, k int, cfg tile.Config) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	a := tile.Factor[T]{Mem: x, Across: k, Along: 1, Map: xMap}
	if cfg.A == tile.AcrossK {
		a.Across, a.Along = 1, m
	}
	b := tile.Factor[T]{Mem: y, Across: k, Along: 1, Map: yMap}
	if cfg.B == tile.AcrossK {
		b.Across, b.Along = 1, n
	}
	// A cluster of blocks has tiles below each other.
	blocks := max(int(cfg.Cluster), 1)
	high := blocks * int(cfg.M)
	down, across := (m+high-1)/high, (n+int(cfg.N)-1)/int(cfg.N)
	own := t.BlockX() % blocks * int(cfg.M)
	tile.Each(t, &cfg, t.BlockX()/blocks, down*across, t.GridDimX()/blocks, func(a, b, c C) C { return a*b + c }, func(i int) (tile.Factor[T], tile.Factor[T], int) {
		a.Row, b.Row = i/across*high+own, i%across*int(cfg.N)
		a.At, a.Limit = a.Row*a.Across, m-a.Row
		b.At, b.Limit = b.Row*b.Across, n-b.Row
		return a, b, k
	}, func(i int, sums []C) {
		row, col := i/across*high+own, i%across*int(cfg.N)
		if cfg.OutSize > 0 {
			tile.Store(t, out, x, sums, outMap, row, col, 0, &cfg, func(_, _ int, v, v2 C) [2]C { return [2]C{v, v2} })
			return
		}
		tile.EachPair(t, x, sums, &cfg, func(r, c, next int, v, v2 C) {
			if r += row; r < m {
				if c += col; c < n {
					out[r*n+c] = v
				}
				if c+next < n {
					out[r*n+c+next] = v2
				}
			}
		})
	})
}
