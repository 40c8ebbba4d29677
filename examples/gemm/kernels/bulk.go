package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
)

// Bulk is Tiles with blocks that go over many tiles each, and on devices that have bulk copies with a
// warp that copies for the others. Blocks of a cluster have tiles below each other, and copy parts of
// the columns of b for each other.
//
//kiln:kernel
//kiln:const cfg.M=32 cfg.N=64 cfg.K=64 cfg.Down=2 cfg.Across=1 cfg.Stages=2 cfg.Chunk=8 cfg.A=0 cfg.B=1 cfg.Cluster=1 cfg.Bulk=false
func Bulk(t dsl.Thread, aMap, bMap dsl.TensorMap, c, a, b []dsl.BF16, m, n, k int, cfg tile.Config) {
	each(t, aMap, bMap, a, b, m, n, k, &cfg, func(row, col int, sums []float32) {
		tile.EachPair(t, a, sums, &cfg, func(r, q, next int, v, v2 float32) {
			store(c, m, n, row+r, col+q, next, v, v2)
		})
	})
}

// each computes the tiles of a block, one after the other, and has done store the sums of each.
func each(t dsl.Thread, aMap, bMap dsl.TensorMap, a, b []dsl.BF16, m, n, k int, cfg *tile.Config, done func(row, col int, sums []float32)) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	blocks := max(int(cfg.Cluster), 1)
	high, wide := blocks*int(cfg.M), int(cfg.N)
	tiles := (m + high - 1) / high * ((n + wide - 1) / wide)
	own := t.BlockX() % blocks * int(cfg.M)
	tile.Each(t, cfg, t.BlockX()/blocks, tiles, t.GridDimX()/blocks, fma, func(i int) (x, y tile.Factor[dsl.BF16], length int) {
		row, col := tileAt(i, m, n, high, wide)
		row += own
		x = tile.Factor[dsl.BF16]{Mem: a, At: row * k, Limit: m - row, Across: k, Along: 1, Map: aMap, Row: row}
		y = tile.Factor[dsl.BF16]{Mem: b, At: col, Limit: n - col, Across: 1, Along: n, Map: bMap, Row: col}
		return x, y, k
	}, func(i int, sums []float32) {
		row, col := tileAt(i, m, n, high, wide)
		done(row+own, col, sums)
	})
}

// tileAt is where tile i begins. Tiles that are computed at the same time are near each other, in
// bands of eight rows of tiles, so that they find in the L2 cache what others have read.
func tileAt(i, m, n, high, wide int) (row, col int) {
	const band = 8
	down, across := (m+high-1)/high, (n+wide-1)/wide
	first := i / (band * across) * band
	here := min(band, down-first)
	i -= first * across
	return (first + i%here) * high, i / here * wide
}

// Layer is Bulk with an epilogue: c = act(a·b + bias), of which results are rounded once. With bulk
// copies they are stored by these, too, while the next tile is multiplied.
//
//kiln:kernel
//kiln:const cfg.M=32 cfg.N=64 cfg.K=64 cfg.Down=2 cfg.Across=1 cfg.Stages=2 cfg.Chunk=8 cfg.A=0 cfg.B=1 cfg.Cluster=1 cfg.Bulk=false cfg.OutSize=0
func Layer(t dsl.Thread, aMap, bMap, cMap dsl.TensorMap, c, a, b []dsl.BF16, bias []float32, m, n, k int, cfg tile.Config, act func(x float32) float32) {
	each(t, aMap, bMap, a, b, m, n, k, &cfg, func(row, col int, sums []float32) {
		if cfg.OutSize > 0 {
			tile.Store(t, c, a, sums, cMap, row, col, 0, &cfg, func(_, q int, v, v2 float32) [2]dsl.BF16 {
				v, v2 = act(v+bias[min(q, n-1)]), act(v2+bias[min(q+1, n-1)])
				return [2]dsl.BF16{dsl.To[dsl.BF16](v), dsl.To[dsl.BF16](v2)}
			})
			return
		}
		tile.EachPair(t, a, sums, &cfg, func(r, q, next int, v, v2 float32) {
			v, v2 = act(v+bias[min(col+q, n-1)]), act(v2+bias[min(col+q+next, n-1)])
			store(c, m, n, row+r, col+q, next, v, v2)
		})
	})
}

// Relu is an activation.
func Relu(x float32) float32 { return max(x, 0) }

// Finish is what Layer does after the product, in a kernel of its own: it reads the results once more.
//
//kiln:kernel
func Finish(t dsl.Thread, c []dsl.BF16, bias []float32, act func(x float32) float32) {
	for i := t.Global(); i < len(c); i += t.GlobalSize() {
		c[i] = dsl.To[dsl.BF16](act(dsl.F32(c[i]) + bias[i%len(bias)]))
	}
}
