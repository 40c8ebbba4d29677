package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
)

// Tiles stores the product of an m×k and a k×n matrix, in the orders that cfg says: a row of x, or a
// column, is stride elements behind the one before, and so it is with y.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0,1
func Tiles[T dsl.Float, C dsl.Real](t dsl.Thread, out []C, x, y []T, m, n, k int, cfg tile.Config) {
	a := tile.Factor[T]{Mem: x, Across: k, Along: 1}
	if cfg.A == tile.AcrossK {
		a.Across, a.Along = 1, m
	}
	b := tile.Factor[T]{Mem: y, Across: k, Along: 1}
	if cfg.B == tile.AcrossK {
		b.Across, b.Along = 1, n
	}
	down, across := (m+int(cfg.M)-1)/int(cfg.M), (n+int(cfg.N)-1)/int(cfg.N)
	for i := t.BlockX(); i < down*across; i += t.GridDimX() {
		row, col := i/across*int(cfg.M), i%across*int(cfg.N)
		sums := dsl.LocalSlice[C](cfg.Sums(t))
		a.At, a.Limit = row*a.Across, m-row
		b.At, b.Limit = col*b.Across, n-col
		tile.Multiply(t, sums, a, b, k, &cfg, func(a, b, c C) C { return dsl.FMA(a, b, c) })
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
	}
}
