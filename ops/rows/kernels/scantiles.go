package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/block"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Long rows of a scan are divided into tiles. A block scans one, publishes the tile's total in status
// words, and awaits those of the tiles before it (decoupled look-back). Tiles are numbered by tickets, so that no
// block waits for one that may not have begun. Totals are combined in the same order in every run: those of the groups
// of tiles before the tile's own, then those of the tiles before it in its group.

// ScanTiling says how rows, or neighbouring columns, are divided among tiles.
type ScanTiling struct {
	Of     core.Divisor // how many tiles a row has
	Strips core.Divisor // how many strips of columns are contiguous
	Bits   uint32       // a group has 1<<Bits tiles
	Groups int          // of a row
}

// published is how many tiles and groups there are of a row, each of which has a total.
func (n *ScanTiling) published() int { return int(n.Of.By) + n.Groups }

// group returns the group of a tile, and which of its tiles it is.
func (n *ScanTiling) group(tile int) (g, i int) {
	g = tile >> n.Bits
	return g, tile - g<<n.Bits
}

// ScanTiles is [ScanRows] of rows that blocks of w.Block threads go through in tiles, of
// which a thread has w.Items elements: neighbours by w.Vec. The totals of tiles and of groups are
// published in so many status words each, after [HeadWords].
//
//kiln:kernel
//kiln:const w.Block=256 w.Items=16 w.Vec=4 w.Full=false each=1
func ScanTiles[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, words []uint32, w RowReduction, n ScanTiling, each dsl.ConstInt, init func(C) C, op func(a, b C) C, pack func(C) uint64, unpack func(uint64) C) {
	r, i := n.Of.DivMod(block.Ticket(t, &words[0]))
	base, to := w.Row(r, 0)
	none := init(dsl.Convert[C](x[base]))
	start := i*int(w.Block)*int(w.Items) + t.Warp()*t.WarpSize()*int(w.Items) + t.Lane()*int(w.Vec)
	raw := dsl.SharedSlice[T](t, w.Block*w.Items)
	whole := w.Vec > 1 && (i+1)*int(w.Block)*int(w.Items) <= w.N
	var all C
	if whole {
		all = stageWhole(t, x, raw, w, base+start, none, op)
	} else {
		all = stageTile(t, x, raw, w, base, start, none, op)
	}
	for d := 1; d < t.WarpSize(); d *= 2 {
		all = op(all, dsl.ShuffleXor(t, all, d))
	}
	part := dsl.Shared[[maxWarps]C](t)
	below, all := block.ScanWarps(t, w.threads(t), part[:], all, none, op)

	status := block.Status{Words: words[HeadWords+r*n.published()*int(each):], Each: each}
	g, j := n.group(i)
	if t.ThreadX() == 0 {
		status.Publish(i, pack(all))
	}
	own := none
	if t.ThreadX() < j {
		own = unpack(status.Await(g<<n.Bits + t.ThreadX()))
	}
	own = block.Reduce(t, w.Block, own, op)
	if j == 1<<n.Bits-1 && t.ThreadX() == 0 {
		status.Publish(int(n.Of.By)+g, pack(op(own, all)))
	}
	earlier := none
	if t.ThreadX() < g {
		earlier = unpack(status.Await(int(n.Of.By) + t.ThreadX()))
	}
	below = op(op(block.Reduce(t, w.Block, earlier, op), own), below)
	if whole {
		storeScanned(t, out, raw, w, to, start, true, below, none, op)
	} else {
		storeScanned(t, out, raw, w, to, start, false, below, none, op)
	}
}

// ScanKept is [ScanTiles] of rows that are one tile each, so that no block waits. If w.Full, all
// threads of a block of w.Block have just w.Items elements, and those of its next two rows are
// in flight while it scans one: few blocks are resident, and with more memory it is slower.
//
//kiln:kernel
//kiln:const w.Block=256 w.Items=16 w.Vec=4 w.Full=true,false
func ScanKept[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, w RowReduction, init func(C) C, op func(a, b C) C) {
	start := t.Warp()*t.WarpSize()*int(w.Items) + t.Lane()*int(w.Vec)
	parts, odd := dsl.Shared[[2 * maxWarps]C](t), 0 // double buffering: a warp at the next row may not overwrite this one's
	if w.Full {
		dsl.LaunchBounds(t, w.Block, KeptThreads/w.Block)
		raw := dsl.SharedSlice[T](t, w.Block*w.Items)
		ask := func(r int, e []T) {
			from, _ := w.Row(min(r, w.Rows-1), 0)
			loadKept(t, x, w, from+start, e)
		}
		first := dsl.LocalSlice[T](w.Items)
		next := dsl.LocalSlice[T](w.Items)
		ask(t.BlockX(), first)
		ask(t.BlockX()+t.GridDimX(), next)
		stageKept(t, raw, w, first)
		for r := t.BlockX(); r < w.Rows; r += t.GridDimX() {
			coming := dsl.LocalSlice[T](w.Items)
			ask(r+2*t.GridDimX(), coming)
			now, to := w.Row(r, 0)
			v := dsl.LocalSlice[C](w.Items)
			for q := range int(w.Items / w.Vec) {
				var p [MaxInFlight]C
				loadVec(raw, w, q*int(w.Block)+t.ThreadX(), &p, 0)
				for k := range int(w.Vec) {
					v[q*int(w.Vec)+k] = p[k]
				}
			}
			scanKept(t, out, w, parts[odd:], to, start, init(dsl.Convert[C](x[now])), v, op)
			odd = maxWarps - odd
			stageKept(t, raw, w, next)
			for u := range int(w.Items) {
				next[u] = coming[u]
			}
		}
		return
	}
	for r := t.BlockX(); r < w.Rows; r += t.GridDimX() {
		base, to := w.Row(r, 0)
		none := init(dsl.Convert[C](x[base]))
		v := dsl.LocalSlice[C](w.Items)
		loadTile(t, x, w, base, start, none, v)
		scanKept(t, out, w, parts[odd:], to, start, none, v, op)
		odd = maxWarps - odd
	}
}

// KeptThreads is how many threads with loads of two rows in flight a multiprocessor has.
const KeptThreads = 768

// scanKept scans and stores the elements of a row that the threads of a block have. What
// warps have is in part, which no thread reads any more.
func scanKept[T dsl.Number, C core.Computed](t dsl.Thread, out []T, w RowReduction, part []C, to, start int, none C, v []C, op func(a, b C) C) {
	below, _ := block.ScanWarps(t, w.threads(t), part, scanInWarp(t, w, v, none, op), none, op)
	for u := range int(w.Items) {
		v[u] = op(below, v[u])
	}
	storeTile(t, out, w, to, start, v)
}

// loadKept loads the w.Items elements of a thread from one on.
func loadKept[T dsl.Number](t dsl.Thread, x []T, w RowReduction, first int, e []T) {
	vec := int(w.Vec)
	for q := range int(w.Items / w.Vec) {
		at := (first + q*t.WarpSize()*vec) &^ (vec - 1) // which it is: the compiler sees what it may load at once
		for k := range vec {
			e[q*vec+k] = x[at+k]
		}
	}
}

// stageKept keeps what [loadKept] loaded. Threads have what they put there.
func stageKept[T dsl.Number](t dsl.Thread, raw []T, w RowReduction, e []T) {
	vec := int(w.Vec)
	for q := range int(w.Items / w.Vec) {
		for k := range vec {
			raw[(q*int(w.Block)+t.ThreadX())*vec+k] = e[q*vec+k]
		}
	}
}

// stageWhole keeps the thread's elements of a tile in raw, of which none is past the end of
// the row, and returns op of them. So many vectors are in flight.
func stageWhole[T dsl.Number, C core.Computed](t dsl.Thread, x, raw []T, w RowReduction, start int, none C, op func(a, b C) C) C {
	vec, all := int(w.Vec), none
	for q := 0; q < int(w.Items)/vec; q += stageVectors {
		e := dsl.LocalSlice[T](stageVectors * w.Vec)
		for u := range min(stageVectors, int(w.Items)/vec-q) {
			at := (start + (q+u)*t.WarpSize()*vec) &^ (vec - 1) // which it is: the compiler sees what it may load at once
			for k := range vec {
				e[u*vec+k] = x[at+k]
			}
		}
		for u := range min(stageVectors, int(w.Items)/vec-q) {
			for k := range vec {
				raw[((q+u)*int(w.Block)+t.ThreadX())*vec+k] = e[u*vec+k]
				all = op(all, dsl.Convert[C](e[u*vec+k]))
			}
		}
	}
	return all
}

// stageVectors is how many vectors a thread loads before it keeps the first one, and stageElements
// how many elements at least.
const (
	stageVectors  = 4
	stageElements = 16
)

// stageTile is [stageWhole] at the end of a row, and of elements one by one.
func stageTile[T dsl.Number, C core.Computed](t dsl.Thread, x, raw []T, w RowReduction, base, start int, none C, op func(a, b C) C) C {
	vec := int(w.Vec)
	all := none
	for q := range int(w.Items) / vec {
		at := start + q*t.WarpSize()*vec
		for k := range vec {
			e := dsl.Convert[T](none) // [storeScanned] reads all
			if at+k < w.N {
				e = x[base+at+k]
				all = op(all, dsl.Convert[C](e))
			}
			raw[(q*int(w.Block)+t.ThreadX())*vec+k] = e
		}
	}
	return all
}

// storeScanned scans what [stageTile] kept, or [stageWhole] if whole, from what comes before the
// warp's elements on.
func storeScanned[T dsl.Number, C core.Computed](t dsl.Thread, out, raw []T, w RowReduction, to, start int, whole bool, before, none C, op func(a, b C) C) {
	vec := int(w.Vec)
	for q := range int(w.Items) / vec {
		at := start + q*t.WarpSize()*vec
		var v [MaxInFlight]C
		if vec > 1 {
			loadVec(raw, w, q*int(w.Block)+t.ThreadX(), &v, 0)
		} else {
			v[0] = dsl.Convert[C](raw[q*int(w.Block)+t.ThreadX()])
		}
		for k := 1; k < vec; k++ {
			v[k] = op(v[k-1], v[k])
		}
		below, all := block.ScanWarp(t, v[vec-1], none, op)
		below = op(before, below)
		for k := range vec {
			v[k] = op(below, v[k])
		}
		before = op(before, all)
		if whole {
			storeVec(out, w, (to+at)/vec, v[:], 0)
			continue
		}
		for k := range vec {
			if at+k < w.N {
				out[to+at+k] = dsl.Convert[T](v[k])
			}
		}
	}
}

// loadTile loads the thread's elements of a tile; those past the end of the row are none.
func loadTile[T dsl.Number, C core.Computed](t dsl.Thread, x []T, w RowReduction, base, start int, none C, v []C) {
	vec := int(w.Vec)
	for q := range int(w.Items) / vec {
		at := start + q*t.WarpSize()*vec
		var p [MaxInFlight]C
		if vec > 1 && at+vec <= w.N {
			loadVec(x, w, (base+at)/vec, &p, 0)
		} else {
			for k := range vec {
				p[k] = none
				if at+k < w.N {
					p[k] = dsl.Convert[C](x[base+at+k])
				}
			}
		}
		for k := range vec {
			v[q*vec+k] = p[k]
		}
	}
}

// storeTile stores the thread's elements of a tile.
func storeTile[T dsl.Number, C core.Computed](t dsl.Thread, out []T, w RowReduction, to, start int, v []C) {
	vec := int(w.Vec)
	for q := range int(w.Items) / vec {
		at := start + q*t.WarpSize()*vec
		if vec > 1 && (bool(w.Full) || at+vec <= w.N) {
			storeVec(out, w, (to+at)/vec, v, q*vec)
			continue
		}
		for k := range vec {
			if at+k < w.N {
				out[to+at+k] = dsl.Convert[T](v[q*vec+k])
			}
		}
	}
}

// scanInWarp scans the elements of a warp, and returns their total.
func scanInWarp[C core.Computed](t dsl.Thread, w RowReduction, v []C, none C, op func(a, b C) C) (before C) {
	vec := int(w.Vec)
	before = none
	for q := range int(w.Items) / vec {
		for k := 1; k < vec; k++ {
			v[q*vec+k] = op(v[q*vec+k-1], v[q*vec+k])
		}
		below, all := block.ScanWarp(t, v[q*vec+vec-1], none, op)
		below = op(before, below)
		for k := range vec {
			v[q*vec+k] = op(below, v[q*vec+k])
		}
		before = op(before, all)
	}
	return before
}
