package kernels

import "github.com/gokiln/kiln/dsl"

// Long rows of a scan are divided into tiles, each for a block that tells others what its
// elements come to, and waits for what those before it tell. As no block waits for a later
// one, and blocks take their turns in the order in which they begin, all come to an end.
// What a tile begins with is put together in the same way in every run: from the groups of
// tiles before that of the tile, and from the tiles of its group.

// ScanTiles is [ScanRows] of rows that blocks of w.Block threads go through in tiles, of
// which a thread has w.Keep elements: neighbours by w.Vec. carry and ready have room for
// the tiles of each row and for their groups, which are group tiles each; ready begins with
// zeros and has [HeadWords] before.
//
//kiln:kernel
func ScanTiles[T dsl.Number, C Computed](t dsl.Thread, out, x []T, carry []C, ready []uint32, w Fold, tiles, groups, group int, init func(C) C, op func(a, b C) C) {
	turn := nextTurn(t, ready)
	r := turn / tiles
	i := turn - r*tiles
	base, to := w.row(r, 0)
	none := init(dsl.Convert[C](x[base]))
	warp := t.WarpSize() * int(w.Keep)
	start := i*int(w.Block)*int(w.Keep) + t.Warp()*warp + t.Lane()*int(w.Vec)
	v := dsl.LocalSlice[C](w.Keep)
	takeTile(t, x, w, base, start, none, v)
	before := scanInWarp(t, w, v, none, op)

	h := handover[C]{carry, ready, r * (tiles + groups)}
	below, all := scanWarps(t, before, none, op)
	g := i / group
	j := i - g*group
	if t.ThreadX() == 0 {
		h.tell(i, all)
	}
	own := none
	if t.ThreadX() < j {
		own = h.hear(g*group + t.ThreadX())
	}
	own = ofBlock(t, own, op)
	if j == group-1 && t.ThreadX() == 0 {
		h.tell(tiles+g, op(own, all))
	}
	earlier := none
	if t.ThreadX() < g {
		earlier = h.hear(tiles + t.ThreadX())
	}
	below = op(op(ofBlock(t, earlier, op), own), below)
	for u := range int(w.Keep) {
		v[u] = op(below, v[u])
	}
	giveTile(t, out, w, to, start, v)
}

// ScanKept is [ScanTiles] of rows that are one tile each, so that nobody waits.
//
//kiln:kernel
func ScanKept[T dsl.Number, C Computed](t dsl.Thread, out, x []T, w Fold, init func(C) C, op func(a, b C) C) {
	for r := t.BlockX(); r < w.Rows; r += t.GridDimX() {
		base, to := w.row(r, 0)
		none := init(dsl.Convert[C](x[base]))
		start := t.Warp()*t.WarpSize()*int(w.Keep) + t.Lane()*int(w.Vec)
		v := dsl.LocalSlice[C](w.Keep)
		takeTile(t, x, w, base, start, none, v)
		below, _ := scanWarps(t, scanInWarp(t, w, v, none, op), none, op)
		for u := range int(w.Keep) {
			v[u] = op(below, v[u])
		}
		giveTile(t, out, w, to, start, v)
	}
}

// handover is what blocks tell each other of the tiles of a row and of their groups.
type handover[C Computed] struct {
	carry []C
	ready []uint32
	row   int
}

func (h *handover[C]) tell(i int, v C) {
	h.carry[h.row+i] = v
	dsl.Fence()
	dsl.AtomicStore(&h.ready[HeadWords+h.row+i], 1)
}

func (h *handover[C]) hear(i int) C {
	for dsl.AtomicLoad(&h.ready[HeadWords+h.row+i]) == 0 {
	}
	dsl.Fence()
	return h.carry[h.row+i]
}

// takeTile loads the thread's elements of a tile; those past the end of the row are none.
func takeTile[T dsl.Number, C Computed](t dsl.Thread, x []T, w Fold, base, start int, none C, v []C) {
	vec := int(w.Vec)
	for q := range int(w.Keep) / vec {
		at := start + q*t.WarpSize()*vec
		var p [MostAhead]C
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

// giveTile stores the thread's elements of a tile.
func giveTile[T dsl.Number, C Computed](t dsl.Thread, out []T, w Fold, to, start int, v []C) {
	vec := int(w.Vec)
	for q := range int(w.Keep) / vec {
		at := start + q*t.WarpSize()*vec
		if vec > 1 && at+vec <= w.N {
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

// scanInWarp scans the elements of a warp, and returns what they all come to.
func scanInWarp[C Computed](t dsl.Thread, w Fold, v []C, none C, op func(a, b C) C) (before C) {
	vec := int(w.Vec)
	before = none
	for q := range int(w.Keep) / vec {
		for k := 1; k < vec; k++ {
			v[q*vec+k] = op(v[q*vec+k-1], v[q*vec+k])
		}
		below, all := scanLanes(t, v[q*vec+vec-1], none, op)
		below = op(before, below)
		for k := range vec {
			v[q*vec+k] = op(below, v[q*vec+k])
		}
		before = op(before, all)
	}
	return before
}

// scanLanes returns op of what the lanes of the warp have that come before, none for the
// first, and of what all have.
func scanLanes[C Computed](t dsl.Thread, v, none C, op func(a, b C) C) (below, all C) {
	for d := 1; d < t.WarpSize(); d *= 2 {
		other := dsl.ShuffleUp(t, v, d)
		if t.Lane() >= d {
			v = op(other, v)
		}
	}
	below = dsl.ShuffleUp(t, v, 1)
	if t.Lane() == 0 {
		below = none
	}
	return below, dsl.Shuffle(t, v, t.WarpSize()-1)
}

// scanWarps is [scanLanes] for the warps of a block.
func scanWarps[C Computed](t dsl.Thread, v, none C, op func(a, b C) C) (below, all C) {
	part := dsl.Shared[[maxWarps]C](t)
	t.Sync() // an earlier call may still be reading
	if t.Lane() == 0 {
		part[t.Warp()] = v
	}
	t.Sync()
	below, all = none, none
	for i := range t.BlockDimX() / t.WarpSize() {
		if i == t.Warp() {
			below = all
		}
		all = op(all, part[i])
	}
	return below, all
}

// ofBlock is op of what the threads of the block have, for all of them.
func ofBlock[C Computed](t dsl.Thread, v C, op func(a, b C) C) C {
	for d := t.WarpSize() / 2; d > 0; d /= 2 {
		v = op(v, dsl.ShuffleXor(t, v, d))
	}
	part := dsl.Shared[[maxWarps]C](t)
	t.Sync() // an earlier call may still be reading
	if t.Lane() == 0 {
		part[t.Warp()] = v
	}
	t.Sync()
	v = part[0]
	for i := 1; i < t.BlockDimX()/t.WarpSize(); i++ {
		v = op(v, part[i])
	}
	return v
}
