package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/block"
	"github.com/gokiln/kiln/dsl/tile"
)

// Groups are products of matrices whose sizes only the device knows. Either the rows of x and out are
// divided among them, and each has its own y, or the places along k are, and each has its own out.
// Their sizes together are those of Product.
type Groups struct {
	Product
	Count   int           // how many groups there are
	Out, Y  int           // strides of the groups' own matrices
	ByPlace dsl.ConstBool // places along k are divided, not rows
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
	if g.ByPlace {
		return g.Count * ((g.M + high - 1) / high) * across
	}
	return int(plan[2*g.Count+3]) * across
}

// tile returns tile i.
func (g *Groups) tile(plan []int32, i, high, wide int) (at groupTile) {
	across := (g.N + wide - 1) / wide
	if g.ByPlace {
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
//kiln:const g.ByPlace=false,true cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0,1 cfg.Cluster=1 cfg.Bulk=false cfg.OutSize=0
func MultiplyGroups[O, T, C dsl.Number](t dsl.Thread, xMap, yMap, outMap dsl.TensorMap, out []O, x, y []T, plan []int32, g Groups, cfg tile.Config, pairs dsl.ConstBool, mad func(a, b, c C) C) {
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
	Bands  dsl.ConstInt  // of High rows, in a tile
	Places dsl.ConstInt  // along k of which y is in shared memory
	YUnit  dsl.ConstBool // columns of y are contiguous
}

// VectorGroups is [MultiplyGroups] for processors whose vectors are warps. A block is one of them, and
// goes over tiles of Bands · High rows by Wide · Each columns: part of y comes into shared memory, where
// it is multiplied by one band of rows of x after the other, whose sums wait there for the next part.
//
//kiln:kernel
//kiln:const g.ByPlace=false,true cfg.Tiling.High=4 cfg.Tiling.Each=2 cfg.Tiling.Wide=8 cfg.Bands=2 cfg.Places=16
func VectorGroups[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, plan []int32, g Groups, cfg Panels, mad func(a, b, c C) C) {
	high, wide := int(cfg.High*cfg.Bands), int(cfg.Wide*cfg.Each)
	ys := dsl.SharedSlice[C](t, cfg.Places*cfg.Wide*cfg.Each)
	sums := dsl.SharedSlice[C](t, cfg.High*cfg.Bands*cfg.Wide*cfg.Each)
	for i := t.BlockX(); i < g.tiles(plan, high, wide); i += t.GridDimX() {
		at := g.tile(plan, i, high, wide)
		for j := t.ThreadX(); j < high*wide; j += int(cfg.Wide) {
			sums[j] = dsl.Convert[C](0)
		}
		for k := 0; k < at.k; k += int(cfg.Places) {
			n := min(at.k-k, int(cfg.Places))
			stagePanel(t, ys, y, at.group*g.Y+(at.at+k)*g.YK, at.col, n, &g, &cfg)
			t.Sync()
			for row := 0; row < high && at.row+row < at.end; row += int(cfg.High) {
				addBand(t, sums[row*wide:], ys, x, (at.at+k)*g.XK, at.row+row, at.end, n, &g, &cfg, mad)
			}
			t.Sync()
		}
		for r := 0; r < high && at.row+r < at.end; r++ {
			for e := range int(cfg.Each) {
				c := e*int(cfg.Wide) + t.ThreadX()
				if at.col+c < g.N {
					out[at.group*g.Out+(at.row+r)*g.OutM+TimesStride(at.col+c, g.OutN, cfg.Contiguous)] = dsl.Convert[O](sums[r*wide+c])
				}
			}
		}
	}
}

// stagePanel puts n places along k of columns of y into shared memory, and zeros where there are no
// columns. Neighbouring threads go along what is contiguous.
func stagePanel[T, C dsl.Number](t dsl.Thread, to []C, y []T, from, col, n int, g *Groups, cfg *Panels) {
	wide := int(cfg.Wide * cfg.Each)
	if cfg.YUnit {
		for k := range n {
			for e := range int(cfg.Each) {
				c := e*int(cfg.Wide) + t.ThreadX()
				var v T
				if col+c < g.N {
					v = y[from+k*g.YK+col+c]
				}
				to[k*wide+c] = dsl.Convert[C](v)
			}
		}
		return
	}
	for c := range wide {
		for k := t.ThreadX(); k < n; k += int(cfg.Wide) {
			var v T
			if col+c < g.N {
				v = y[from+k*g.YK+(col+c)*g.YN]
			}
			to[k*wide+c] = dsl.Convert[C](v)
		}
	}
}

// addBand adds to the sums of a band of rows, from row on, the products of n places along k with what
// is in shared memory. A row behind the last is that one again.
func addBand[T, C dsl.Number](t dsl.Thread, sums, ys []C, x []T, from, row, end, n int, g *Groups, cfg *Panels, mad func(a, b, c C) C) {
	high, each, lane := int(cfg.High), int(cfg.Each), t.ThreadX()
	wide := each * int(cfg.Wide)
	acc, v, at := dsl.LocalSlice[C](cfg.High*cfg.Each), dsl.LocalSlice[C](cfg.Each), dsl.LocalSlice[int](cfg.High)
	for h := range high {
		at[h] = from + min(row+h, end-1)*g.XM
		for e := range each {
			acc[h*each+e] = sums[h*wide+e*int(cfg.Wide)+lane]
		}
	}
	for k := range n {
		for e := range each {
			v[e] = ys[k*wide+e*int(cfg.Wide)+lane]
		}
		for h := range high {
			a := dsl.Convert[C](x[at[h]+k*g.XK])
			for e := range each {
				acc[h*each+e] = mad(a, v[e], acc[h*each+e])
			}
		}
	}
	for h := range high {
		for e := range each {
			sums[h*wide+e*int(cfg.Wide)+lane] = acc[h*each+e]
		}
	}
}
