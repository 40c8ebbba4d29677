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
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0,1 cfg.Cluster=1 cfg.Bulk=false cfg.OutSize=0 cfg.Promote=0
func Multiply[O, T dsl.Number, C core.Computed](t dsl.Thread, xMap, yMap, outMap dsl.TensorMap, out []O, x, y []T, w core.Walk, p Product, r Raster, cfg tile.Config, pairs dsl.ConstBool, mad func(a, b, c C) C) {
	multiplyTiles(t, xMap, yMap, yMap, outMap, out, x, y, y, false, &w, &p, &r, &cfg, pairs, mad, func(_, _, _ int, sums, part []C) { tile.Add(t, sums, part, &cfg) }, func(_ [core.Operands]int, _, _, _ int, v, v2, _, _ C) [2]O {
		return [2]O{dsl.Convert[O](v), dsl.Convert[O](v2)}
	})
}

// MultiplyThen is [Multiply] whose sums go through an epilogue.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0,1 cfg.Cluster=1 cfg.Bulk=false cfg.OutSize=0 cfg.Promote=0 e.Bias.Kind=1 e.Bias.Pairs=false,true e.Factor.Kind=0 e.Residual.Kind=0,3 e.Residual.Pairs=true e.Scaled=false,true
func MultiplyThen[O, T dsl.Number, C core.Computed](t dsl.Thread, xMap, yMap, outMap dsl.TensorMap, out []O, x, y []T, bias []O, factor []C, residual []O, w core.Walk, p Product, r Raster, cfg tile.Config, pairs dsl.ConstBool, scale C, e Epilogue, mad func(a, b, c C) C, act func(x C) C) {
	multiplyTiles(t, xMap, yMap, yMap, outMap, out, x, y, y, false, &w, &p, &r, &cfg, pairs, mad, func(_, _, _ int, sums, part []C) { tile.Add(t, sums, part, &cfg) }, func(at [core.Operands]int, r, c, next int, v, v2, _, _ C) [2]O {
		f := load[C, C](&e.Factor, factor, at[atFactor], r, c, next, &p)
		return finishPair[O](&e, &p, bias, residual, at, r, c, next, [2]C{v, v2}, f, scale, act, mad)
	})
}

// MultiplyGated is [MultiplyThen] where the factor of the epilogue is the product of x and up, of
// which a tile has the same rows and columns.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0,1 cfg.Cluster=1 cfg.Bulk=false cfg.OutSize=0 cfg.Promote=0 e.Bias.Kind=0 e.Factor.Kind=4 e.Residual.Kind=0,3 e.Scaled=false
func MultiplyGated[O, T dsl.Number, C core.Computed](t dsl.Thread, xMap, yMap, upMap, outMap dsl.TensorMap, out []O, x, y, up []T, bias, residual []O, w core.Walk, p Product, r Raster, cfg tile.Config, pairs dsl.ConstBool, scale C, e Epilogue, mad func(a, b, c C) C, act func(x C) C) {
	multiplyTiles(t, xMap, yMap, upMap, outMap, out, x, y, up, true, &w, &p, &r, &cfg, pairs, mad, func(_, _, _ int, sums, part []C) { tile.Add(t, sums, part, &cfg) }, func(at [core.Operands]int, r, c, next int, v, v2, u, u2 C) [2]O {
		return finishPair[O](&e, &p, bias, residual, at, r, c, next, [2]C{v, v2}, [2]C{u, u2}, scale, act, mad)
	})
}

// Raster is the order of tiles: those of a band of rows of tiles go down in it before they go on, so that
// blocks that run together share what they read. A plane of tiles is one of the matrices, or of a part of
// its sums.
type Raster struct {
	Count      int          // tiles of all planes
	Tiles      core.Divisor // tiles of a plane
	Batch      core.Divisor // matrices
	Band, Rest core.Divisor // tiles of a band, and rows of tiles in the last one
	Last       int          // the first tile of the last band, if it has fewer rows
}

// BandRows is how many rows of tiles are in a band.
const BandRows = 8

// At returns where tile i of so many rows and columns is, and in which plane.
func (r *Raster) At(i, high, wide int) (row, col, plane int) {
	plane, i = r.Tiles.DivMod(i)
	band, j := r.Band.DivMod(i)
	if row, col = j%BandRows, j/BandRows; i >= r.Last {
		col, row = r.Rest.DivMod(j)
	}
	return (band*BandRows + row) * high, col * wide, plane
}

// multiplyTiles is [Multiply] with two functions. One adds the products of a stage, from place k on, to
// the sums of the tile at a row and a column, if the Config says Promote. The other makes results of
// the sums of row r and of columns c and c + next of the product at a place, v and v2, and if it is
// gated of those of the product of x and up; of sums beyond the edge it makes anything.
func multiplyTiles[O, T dsl.Number, C dsl.Number](t dsl.Thread, xMap, yMap, upMap, outMap dsl.TensorMap, out []O, x, y, up []T, gated dsl.ConstBool, w *core.Walk, p *Product, order *Raster, cfg *tile.Config, pairs dsl.ConstBool, mad func(a, b, c C) C, add func(row, col, k int, sums, part []C), finish func(at [core.Operands]int, r, c, next int, v, v2, u, u2 C) [2]O) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	blocks := max(int(cfg.Cluster), 1)
	own := t.BlockX() % blocks * int(cfg.M)
	high, wide := blocks*int(cfg.M), int(cfg.N)
	if gated {
		wide /= 2
	}
	tile.EachScaled(t, cfg, t.BlockX()/blocks, order.Count, t.GridDimX()/blocks, mad, func(i int) (a, b tile.Factor[T], k int) {
		row, col, plane := order.At(i, high, wide)
		row += own
		part, z := order.Batch.DivMod(plane)
		lo, at := part*p.Part, w.At(z)
		a = tile.Factor[T]{Mem: x, At: at[1] + lo*p.XK + row*p.XM, Limit: p.M - row, Across: p.XM, Along: p.XK, Map: xMap, Row: row, K: lo, Plane: z * p.XPlane}
		b = tile.Factor[T]{Mem: y, At: at[2] + lo*p.YK + col*p.YN, Limit: p.N - col, Across: p.YN, Along: p.YK, Map: yMap, Row: col, K: lo, Plane: z * p.YPlane}
		if gated {
			b.Gated, b.Up, b.UpAt, b.UpMap = true, up, b.At, upMap
		}
		return a, b, min(p.Part, p.K-lo)
	}, func(i, k int, sums, part []C) {
		row, col, plane := order.At(i, high, wide)
		of, _ := order.Batch.DivMod(plane)
		add(row+own, col, of*p.Part+k, sums, part)
	}, func(i int, sums []C) {
		row, col, plane := order.At(i, high, wide)
		row += own
		part, z := order.Batch.DivMod(plane)
		at := w.At(z)
		to := at[0] + part*p.Parts
		store := func(r, c, next int, v, v2, u, u2 C) {
			r, c = r+row, c+col
			if r >= p.M || c >= p.N {
				return
			}
			results := finish(at, r, c, next, v, v2, u, u2)
			if bool(pairs) && next == 1 {
				dsl.StoreVec(out, (to+r*p.OutM+c)>>1, results)
				return
			}
			out[to+r*p.OutM+c*p.OutN] = results[0]
			if c+next < p.N {
				out[to+r*p.OutM+(c+next)*p.OutN] = results[1]
			}
		}
		switch {
		case cfg.OutSize > 0 && bool(gated):
			tile.StoreGated(t, out, x, sums, outMap, row, col, plane, cfg, func(r, c int, v, v2, u, u2 C) [2]O { return finish(at, r, c, 1, v, v2, u, u2) })
		case cfg.OutSize > 0:
			tile.Store(t, out, x, sums, outMap, row, col, plane, cfg, func(r, c int, v, v2 C) [2]O { return finish(at, r, c, 1, v, v2, v, v2) })
		case bool(gated):
			tile.EachGated(t, x, sums, cfg, store)
		default:
			tile.EachPair(t, x, sums, cfg, func(r, c, next int, v, v2 C) { store(r, c, next, v, v2, v, v2) })
		}
	})
}
