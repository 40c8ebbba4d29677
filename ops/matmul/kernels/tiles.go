package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Multiply computes products of matrices by the device's matrix instructions, see package tile.
// Blocks in x go over tiles, in y over products, and in z over parts of k.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0,1
func Multiply[O, T dsl.Number, C dsl.Number](t dsl.Thread, out []O, x, y []T, w core.Walk, p Product, cfg tile.Config, pairs dsl.ConstBool, mad func(a, b, c C) C) {
	dsl.LaunchBounds(t, cfg.Threads(t), 1)
	row, col := p.TileAt(t.BlockX(), int(cfg.M), int(cfg.N))
	lo := t.BlockZ() * p.Part
	hi := min(lo+p.Part, p.K)
	for z := t.BlockY(); z < p.Batch; z += t.GridDimY() {
		at := w.At(z)
		sums := dsl.LocalSlice[C](cfg.Sums(t))
		a := tile.Factor[T]{Mem: x, At: at[1] + lo*p.XK + row*p.XM, Limit: p.M - row, Across: p.XM, Along: p.XK}
		b := tile.Factor[T]{Mem: y, At: at[2] + lo*p.YK + col*p.YN, Limit: p.N - col, Across: p.YN, Along: p.YK}
		tile.Multiply(t, sums, a, b, hi-lo, &cfg, mad)
		to := at[0] + t.BlockZ()*p.Parts
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
	}
}
