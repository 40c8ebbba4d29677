package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Multiply computes products of matrices by the device's matrix instructions, see package tile. A
// block goes over tiles of the result, of each product and each part of k: those of neighbouring
// blocks come one after the other, and a cluster of blocks has tiles below each other. The maps say
// where x, y and out are if they are copied by them.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0,1 cfg.Cluster=1 cfg.Bulk=false cfg.OutSize=0 cfg.Promote=false
func Multiply[O, T dsl.Number, C dsl.Number](t dsl.Thread, xMap, yMap, outMap dsl.TensorMap, out []O, x, y []T, w core.Walk, p Product, cfg tile.Config, pairs dsl.ConstBool, mad func(a, b, c C) C) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	blocks := max(int(cfg.Cluster), 1)
	own := t.BlockX() % blocks * int(cfg.M)
	high := blocks * int(cfg.M)
	tiles := (p.M + high - 1) / high * ((p.N + int(cfg.N) - 1) / int(cfg.N))
	parts := (p.K + p.Part - 1) / p.Part
	tile.Each(t, &cfg, t.BlockX()/blocks, tiles*p.Batch*parts, t.GridDimX()/blocks, mad, func(i int) (a, b tile.Factor[T], k int) {
		row, col := p.TileAt(i%tiles, high, int(cfg.N))
		row += own
		z, lo := i/tiles%p.Batch, i/tiles/p.Batch*p.Part
		at := w.At(z)
		a = tile.Factor[T]{Mem: x, At: at[1] + lo*p.XK + row*p.XM, Limit: p.M - row, Across: p.XM, Along: p.XK, Map: xMap, Row: row, K: lo, Plane: z * p.XPlane}
		b = tile.Factor[T]{Mem: y, At: at[2] + lo*p.YK + col*p.YN, Limit: p.N - col, Across: p.YN, Along: p.YK, Map: yMap, Row: col, K: lo, Plane: z * p.YPlane}
		return a, b, min(p.Part, p.K-lo)
	}, func(i int, sums []C) {
		row, col := p.TileAt(i%tiles, high, int(cfg.N))
		row += own
		if cfg.OutSize > 0 {
			tile.Store(t, out, x, sums, outMap, row, col, i/tiles, &cfg, func(_, _ int, v C) O { return dsl.Convert[O](v) })
			return
		}
		to := w.At(i / tiles % p.Batch)[0] + i/tiles/p.Batch*p.Parts
		tile.EachPair(t, x, sums, &cfg, func(r, c, next int, v, v2 C) {
			r, c = r+row, c+col
			switch {
			case r >= p.M:
			case bool(pairs) && next == 1:
				if c < p.N {
					dsl.StoreVec(out, (to+r*p.OutM+c)>>1, [2]O{dsl.Convert[O](v), dsl.Convert[O](v2)})
				}
			default:
				if c < p.N {
					out[to+r*p.OutM+c*p.OutN] = dsl.Convert[O](v)
				}
				if c+next < p.N {
					out[to+r*p.OutM+(c+next)*p.OutN] = dsl.Convert[O](v2)
				}
			}
		})
	})
}
