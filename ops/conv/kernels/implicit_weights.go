package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	core "github.com/gokiln/kiln/ops/kernels"
)

// WeightSums is the gradient of the weights of a convolution as a product: with a row for each of what an
// [Implicit] has along k, which is channels of the input at positions of the kernel, and a column for
// each channel of the result. Sums go over the positions of the result of all inputs.
type WeightSums struct {
	Implicit
	Real  int // channels of the input that there are: zeros come behind them
	Part  int // positions of a part of the sums
	Parts int // how far parts of the results are apart
	Total int // rows of the result that there are
}

// beyond is needed by chunks behind the last row: no row has it.
const beyond = 1 << 31

// ImplicitWeights computes parts of the gradient of weights by the device's matrix instructions: what
// the kernel meets at positions, transposed, by the gradient of the result there. Results are those of a
// group for each channel of the result, in the order of [WeightSums].
//
//kiln:kernel
//kiln:const g.Implicit.Flat=true g.Implicit.Strided=false g.Implicit.Rank=1,2 cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=1 cfg.B=1 cfg.Cluster=1 cfg.Bulk=false cfg.OutSize=0 cfg.AVec=true cfg.BVec=true cfg.Promote=0
func ImplicitWeights[T dsl.Number, C core.Computed](t dsl.Thread, xMap, yMap dsl.TensorMap, out []C, x, y []T, g WeightSums, cfg tile.Config, mad func(a, b, c C) C) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	tileAt := func(i int) (from, group, row, col int) {
		row, col, group = g.Order.At(i, int(cfg.M), int(cfg.N))
		from, group = g.Order.Batch.DivMod(group)
		return from * g.Part, group, row, col
	}
	a := tile.Pixels[T]{Mem: x, Map: xMap, Axes: g.Rank}
	tile.EachGathered(t, &cfg, a, t.BlockX(), g.Order.Count, t.GridDimX(), mad, func(i int) (tile.Factor[T], int) {
		from, group, _, col := tileAt(i)
		return tile.Factor[T]{Mem: y, At: from*g.Y + group*g.YGroup + col, Limit: g.YGroup - col, Across: 1, Along: g.Y, Map: yMap, Row: group*g.YGroup + col, K: from}, min(g.Part, g.M-from)
	}, func(i, k int) tile.Place {
		from, group, _, _ := tileAt(i)
		return g.row(group, from+k)
	}, func(i, n int) (at tile.Place) {
		_, _, row, _ := tileAt(i)
		if at.Needs = beyond; row+n < g.K {
			at = g.chunk(row+n, cfg.Chunk)
		}
		return at
	}, func(int) (at dsl.Pixel) { return at }, func(i int, _ dsl.Pixel, k, n int) dsl.Pixel {
		from, group, row, _ := tileAt(i)
		return g.Move(g.Pixel(group, from+k), min(row+n, g.K-int(cfg.K)))
	}, func(i int, sums []C) {
		_, group, row, col := tileAt(i)
		part, _ := g.Order.Tiles.DivMod(i)
		part, _ = g.Order.Batch.DivMod(part)
		to := part*g.Parts + group*g.N*g.Total
		store := func(r, c int, v C) {
			position, channel := g.Channels.DivMod(r)
			if r < g.K && c < g.N && channel < g.Real {
				out[to+c*g.Total+position*g.Real+channel] = v
			}
		}
		tile.EachPair(t, x, sums, &cfg, func(r, c, next int, v, v2 C) {
			store(r+row, c+col, v)
			store(r+row, c+col+next, v2)
		})
	})
}
