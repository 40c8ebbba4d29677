package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/block"
	"github.com/gokiln/kiln/dsl/tile"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Groups are products of matrices whose sizes only the device knows. Either the rows of x and out are
// divided among them, and each has its own y, or the places along k are, and each has its own out.
// Their sizes together are those of Product.
type Groups struct {
	Product
	Count   int           // how many groups there are
	Out, Y  int           // strides of the groups' own matrices
	DivideK dsl.ConstBool // groups divide k, not rows
}

// PlanGroups turns the ends of groups, of numbers below limit, into what the blocks of a product look
// up: where each group begins, and the rest behind the last, and then for each how many tiles of some
// height there are before it, and in all. A group begins where the one before it ends. Ends that are
// not in order, or outside of 0 to limit, are moved there: nothing is outside of the matrices. One
// block does it.
//
//kiln:kernel
func PlanGroups[I dsl.Int | dsl.Uint](t dsl.Thread, plan []int32, ends []I, stride, count, limit, high int) {
	each := (count + t.BlockSize() - 1) / t.BlockSize()
	first := min(t.ThreadX()*each, count)
	last := min(first+each, count)
	end := 0
	for i := first; i < last; i++ {
		end = groupEnd(ends, i*stride, end, limit)
	}
	begin, rest := block.Scan(t, t.BlockSize(), int32(end), 0, func(a, b int32) int32 { return max(a, b) })
	end, tiles := int(begin), 0
	for i := first; i < last; i++ {
		next := groupEnd(ends, i*stride, end, limit)
		end, tiles = next, tiles+(next-end+high-1)/high
	}
	before, all := block.Scan(t, t.BlockSize(), int32(tiles), 0, func(a, b int32) int32 { return a + b })
	end, tiles = int(begin), int(before)
	for i := first; i < last; i++ {
		plan[i], plan[count+2+i] = int32(end), int32(tiles)
		next := groupEnd(ends, i*stride, end, limit)
		end, tiles = next, tiles+(next-end+high-1)/high
	}
	if t.ThreadX() == 0 {
		plan[count], plan[count+1] = rest, int32(limit)
		plan[2*count+2], plan[2*count+3] = all, all+int32((limit-int(rest)+high-1)/high)
	}
}

// groupEnd is end i in range, and not before another.
func groupEnd[I dsl.Int | dsl.Uint](ends []I, i, before, limit int) int {
	return max(before, min(int(ends[i]), limit))
}

// groupTile is a tile of a product: which rows below end, and columns, and the places along k.
type groupTile struct {
	group, row, end, col, at, k int
}

// tiles is how many tiles the products have. Rows behind the last group, which are to be zero, are one
// more group with nothing along k.
func (g *Groups) tiles(plan []int32, high, wide int) int {
	across := (g.N + wide - 1) / wide
	if g.DivideK {
		return g.Count * ((g.M + high - 1) / high) * across
	}
	return int(plan[2*g.Count+3]) * across
}

// tile returns tile i.
func (g *Groups) tile(plan []int32, i, high, wide int) (at groupTile) {
	across := (g.N + wide - 1) / wide
	if g.DivideK {
		tiles := (g.M + high - 1) / high * across
		at.group, at.end = i/tiles, g.M
		at.row, at.col = g.TileAt(i%tiles, high, wide)
		at.at = int(plan[at.group])
		at.k = int(plan[at.group+1]) - at.at
		return at
	}
	before := plan[g.Count+2:]
	next := g.Count + 1
	for next-at.group > 1 {
		if middle := (at.group + next) / 2; int(before[middle]) <= i/across {
			at.group = middle
		} else {
			next = middle
		}
	}
	begin := int(plan[at.group])
	at.end = int(plan[at.group+1])
	p := Product{M: at.end - begin, N: g.N}
	at.row, at.col = p.TileAt(i-int(before[at.group])*across, high, wide)
	if at.row += begin; at.group < g.Count {
		at.k = g.K
	}
	return at
}

// MultiplyGroups is [Multiply] of groups: its blocks go over the tiles of all of them. A plan is what
// [PlanGroups] makes for tiles as high as those of a cluster. With bulk copies, a tile reads rows of the group
// below, and does not store what comes of them; along k there are none.
//
//kiln:kernel
//kiln:const g.DivideK=false,true cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0,1 cfg.Cluster=1 cfg.Bulk=false cfg.OutSize=0 cfg.Promote=0
func MultiplyGroups[O, T dsl.Number, C core.Computed](t dsl.Thread, xMap, yMap, outMap dsl.TensorMap, out []O, x, y []T, plan []int32, g Groups, cfg tile.Config, pairs dsl.ConstBool, mad func(a, b, c C) C) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	blocks := max(int(cfg.Cluster), 1)
	high, wide := blocks*int(cfg.M), int(cfg.N)
	own := t.BlockX() % blocks * int(cfg.M)
	var at groupTile
	tile.Each(t, &cfg, t.BlockX()/blocks, g.tiles(plan, high, wide), t.GridDimX()/blocks, mad, func(i int) (a, b tile.Factor[T], k int) {
		at = g.tile(plan, i, high, wide)
		at.row += own
		a = tile.Factor[T]{Mem: x, At: at.at*g.XK + at.row*g.XM, Limit: at.end - at.row, Across: g.XM, Along: g.XK, Map: xMap, Row: at.row, K: at.at}
		b = tile.Factor[T]{Mem: y, At: at.group*g.Y + at.at*g.YK + at.col*g.YN, Limit: g.N - at.col, Across: g.YN, Along: g.YK, Map: yMap, Row: at.col, K: at.at, Plane: at.group * g.YPlane}
		return a, b, at.k
	}, func(_ int, sums []C) {
		if cfg.OutSize > 0 {
			tile.StoreRows(t, out, x, sums, outMap, at.row, at.col, at.end, g.OutM, g.N, &cfg, func(_, _ int, v, v2 C) [2]O { return [2]O{dsl.Convert[O](v), dsl.Convert[O](v2)} })
			return
		}
		to := at.group * g.Out
		tile.EachPair(t, x, sums, &cfg, func(r, c, next int, v, v2 C) {
			r, c = r+at.row, c+at.col
			switch {
			case r >= at.end:
			case bool(pairs) && next == 1:
				if c < g.N {
					dsl.StoreVec(out, (to+r*g.OutM+c)>>1, [2]O{dsl.Convert[O](v), dsl.Convert[O](v2)})
				}
			default:
				if c < g.N {
					out[to+r*g.OutM+c*g.OutN] = dsl.Convert[O](v)
				}
				if c+next < g.N {
					out[to+r*g.OutM+(c+next)*g.OutN] = dsl.Convert[O](v2)
				}
			}
		})
	})
}

// Panels says how [VectorGroups] divides its work.
type Panels struct {
	Tiling
	Bands        dsl.ConstInt  // of High rows, in a tile
	TileK        dsl.ConstInt  // elements along k that are in shared memory
	XAlong       dsl.ConstBool // x is contiguous along k
	XUnit, YUnit dsl.ConstBool // rows of x, and columns of y, are contiguous
}

// VectorGroups is [MultiplyGroups] for processors whose vectors are warps. A block is one of them, and
// goes over tiles of Bands · MR rows by Threads · NR columns: parts of x and y come into shared memory,
// where one band of rows after the other is multiplied, whose sums wait there for the next parts.
//
//kiln:kernel
//kiln:const g.DivideK=false,true cfg.Tiling.MR=4 cfg.Tiling.NR=2 cfg.Tiling.Threads=8 cfg.Bands=2 cfg.TileK=16
func VectorGroups[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, plan []int32, g Groups, cfg Panels, mad func(a, b, c C) C) {
	high, wide := int(cfg.MR*cfg.Bands), int(cfg.Threads*cfg.NR)
	xs := dsl.SharedSlice[C](t, cfg.TileK*cfg.MR*cfg.Bands)
	ys := dsl.SharedSlice[C](t, cfg.TileK*cfg.Threads*cfg.NR)
	sums := dsl.SharedSlice[C](t, cfg.MR*cfg.Bands*cfg.Threads*cfg.NR)
	for i := t.BlockX(); i < g.tiles(plan, high, wide); i += t.GridDimX() {
		at := g.tile(plan, i, high, wide)
		for j := t.ThreadX(); j < high*wide; j += int(cfg.Threads) {
			sums[j] = dsl.Convert[C](0)
		}
		for k := 0; k < at.k; k += int(cfg.TileK) {
			n := min(at.k-k, int(cfg.TileK))
			from := (at.at+k)*g.XK + at.row*g.XM
			if cfg.XUnit {
				stagePanel(t, xs, x, from, at.end-at.row, high, n, g.XM, g.XK, &cfg, true)
			} else {
				stageRows(t, xs, x, from, min(at.end-at.row, high), n, &g, &cfg)
			}
			stagePanel(t, ys, y, at.group*g.Y+(at.at+k)*g.YK+at.col*g.YN, g.N-at.col, wide, n, g.YN, g.YK, &cfg, cfg.YUnit)
			t.Sync()
			for row := 0; row < high && at.row+row < at.end; row += int(cfg.MR) {
				addBand(t, sums, xs, ys, row, n, &cfg, mad)
			}
			t.Sync()
		}
		for r := 0; r < high && at.row+r < at.end; r++ {
			for e := range int(cfg.NR) {
				c := e*int(cfg.Threads) + t.ThreadX()
				if at.col+c < g.N {
					out[at.group*g.Out+(at.row+r)*g.OutM+TimesStride(at.col+c, g.OutN, cfg.Contiguous)] = dsl.Convert[O](sums[r*wide+c])
				}
			}
		}
	}
}

// stagePanel puts n places along k of so many columns of y, or rows of x that are contiguous, into shared
// memory, place after place, and zeros beyond a limit.
func stagePanel[T, C dsl.Number](t dsl.Thread, to []C, from []T, at, limit, size, n, across, along int, cfg *Panels, unit dsl.ConstBool) {
	load := func(k, i int) {
		var v T
		if i < limit {
			v = from[at+k*along+TimesStride(i, across, unit)]
		}
		to[k*size+i] = dsl.Convert[C](v)
	}
	if unit {
		for k := range n {
			for i := t.ThreadX(); i < size; i += int(cfg.Threads) {
				load(k, i)
			}
		}
		return
	}
	for i := t.ThreadX(); i < size; i += int(cfg.Threads) {
		for k := range n { // of cache lines that are read already
			load(k, i)
		}
	}
}

// stageRows puts n places along k of rows of x into shared memory, row after row. A row that the last
// band lacks is the last one again.
func stageRows[T, C dsl.Number](t dsl.Thread, to []C, x []T, at, rows, n int, g *Groups, cfg *Panels) {
	for row := range (rows + int(cfg.MR) - 1) / int(cfg.MR) * int(cfg.MR) {
		for k := t.ThreadX(); k < n; k += int(cfg.Threads) {
			to[row*int(cfg.TileK)+k] = dsl.Convert[C](x[at+min(row, rows-1)*g.XM+TimesStride(k, g.XK, cfg.XAlong)])
		}
	}
}

// addBand adds to the sums of a band of rows the products of n places along k.
func addBand[C dsl.Number](t dsl.Thread, sums, xs, ys []C, row, n int, cfg *Panels, mad func(a, b, c C) C) {
	high, each, lane, lanes := int(cfg.MR), int(cfg.NR), t.ThreadX(), int(cfg.Threads)
	wide := each * lanes
	down, right := int(cfg.TileK), 1
	if cfg.XUnit {
		down, right = 1, high*int(cfg.Bands)
	}
	acc, v := dsl.LocalSlice[C](cfg.MR*cfg.NR), dsl.LocalSlice[C](cfg.NR)
	for i := range high * each {
		acc[i] = sums[(row+i/each)*wide+i%each*lanes+lane]
	}
	step := func(k int) {
		for e := range each {
			v[e] = ys[k*wide+e*lanes+lane]
		}
		for h := range high {
			for e := range each {
				acc[h*each+e] = mad(xs[(row+h)*down+k*right], v[e], acc[h*each+e])
			}
		}
	}
	k := 0
	for ; k+packedSteps <= n; k += packedSteps {
		for i := range packedSteps {
			step(k + i)
		}
	}
	for ; k < n; k++ {
		step(k)
	}
	for i := range high * each {
		sums[(row+i/each)*wide+i%each*lanes+lane] = acc[i]
	}
}
