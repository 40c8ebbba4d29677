package kernels

import "github.com/gokiln/kiln/dsl"

// Where an operation goes down columns that lie side by side, blocks have tiles of them: all
// rows of a part of w.N, of w.Cols columns, which threads load by vectors along the rows and
// look at down the columns. Tiles of the same columns tell each other what they come to, as
// tiles of rows do.

// strip is a tile, and what a thread has of it: a part of a column.
type strip struct {
	x, out     int // where the tile begins
	rows, cols int // that are there
	col        int // the thread's column, and
	part       int // which part of it, of
	parts      int // so many
	per        int // rows of a part; of the thread's there are
	has        int // only so many at the end
}

// strip returns tile i of the k-th columns of row r of columns.
func (w *Fold) strip(t dsl.Thread, r, k, i int) (s strip) {
	cols := int(w.Cols)
	x, out := w.row(r, 1)
	s.parts, s.per = int(w.Block)/cols, int(w.Keep)*int(w.Vec)
	first := i * s.parts * s.per
	s.x, s.out = x+first*w.InStep[0]+k*cols, out+first*w.OutIn+k*cols
	s.rows, s.cols = min(s.parts*s.per, w.N-first), min(cols, w.Width-k*cols)
	s.col, s.part = t.ThreadX()%cols, t.ThreadX()/cols
	if s.col < s.cols {
		s.has = min(s.per, max(0, s.rows-s.part*s.per))
	}
	return s
}

// whole reports whether all of the tile is there.
func (s *strip) whole(w *Fold) bool { return s.rows == s.parts*s.per && s.cols == int(w.Cols) }

// hold keeps the tile in raw, row by row. Several vectors are on the way at once. Rows that
// are not there are the last one.
func holdStrip[T dsl.Number](t dsl.Thread, x, raw []T, w Fold, s *strip) {
	cols, vec, keep := int(w.Cols), int(w.Vec), int(w.Keep)
	if s.cols < cols {
		for i := t.ThreadX(); i < s.rows*cols; i += int(w.Block) {
			if r, c := i/cols, i%cols; c < s.cols {
				raw[i] = x[s.x+r*w.InStep[0]+c]
			}
		}
		return
	}
	lanes, ahead := cols/vec, max(heldAhead, heldElements/vec)
	for q := 0; q < keep; q += ahead {
		e := dsl.LocalSlice[T](max(heldAhead*w.Vec, heldElements))
		for u := range min(ahead, keep-q) {
			row := min((q+u)*(int(w.Block)/lanes)+t.ThreadX()/lanes, s.rows-1)
			at := (s.x + row*w.InStep[0] + t.ThreadX()%lanes*vec) &^ (vec - 1) // which it is: the compiler sees what it may load at once
			for k := range vec {
				e[u*vec+k] = x[at+k]
			}
		}
		for u := range min(ahead, keep-q) {
			for k := range vec {
				raw[((q+u)*int(w.Block)+t.ThreadX())*vec+k] = e[u*vec+k]
			}
		}
	}
}

// ScanStrips is [ScanCols] of columns that blocks of w.Block threads go through in tiles. What
// tiles and groups of them come to is told as for [ScanTiles].
//
//kiln:kernel
//kiln:const w.Block=256 w.Cols=32 w.Vec=4 w.Keep=2 each=1
func ScanStrips[T dsl.Number, C Computed](t dsl.Thread, out, x []T, words []uint32, w Fold, tiles, groups, group int, each dsl.ConstInt, init func(C) C, op func(a, b C) C, pack func(C) uint64, unpack func(uint64) C) {
	cols, strips := int(w.Cols), (w.Width+int(w.Cols)-1)/int(w.Cols)
	i := nextTurn(t, words)
	k := i % strips
	i /= strips
	r := i / tiles
	i -= r * tiles
	s := w.strip(t, r, k, i)
	raw := dsl.SharedSlice[T](t, w.Block*w.Keep*w.Vec)
	holdStrip(t, x, raw, w, &s)
	first, _ := w.row(r, 1)
	none := init(dsl.Convert[C](x[first+k*cols+min(s.col, s.cols-1)]))
	t.Sync()
	whole := s.whole(&w)
	all := none
	if whole {
		for u := range s.per {
			all = op(all, dsl.Convert[C](raw[(s.part*s.per+u)*cols+s.col]))
		}
	} else {
		for u := range s.has {
			all = op(all, dsl.Convert[C](raw[(s.part*s.per+u)*cols+s.col]))
		}
	}
	parts := dsl.SharedSlice[C](t, w.Block)
	below, all := belowPart(t, parts, &s, cols, all, none, op)

	h := handover{words, HeadWords + (r*strips+k)*(tiles+groups)*cols*int(each), each}
	g := i / group
	j := i - g*group
	if s.part == 0 {
		h.tell(i*cols+s.col, pack(all))
	}
	own := heardColumns(t, dsl.SharedSlice[C](t, w.Block), &h, &s, cols, g*group, j, none, op, unpack)
	if j == group-1 && s.part == 0 {
		h.tell((tiles+g)*cols+s.col, pack(op(own, all)))
	}
	earlier := heardColumns(t, dsl.SharedSlice[C](t, w.Block), &h, &s, cols, tiles, g, none, op, unpack)
	below = op(op(earlier, own), below)
	if whole {
		for u := range s.per {
			below = op(below, dsl.Convert[C](raw[(s.part*s.per+u)*cols+s.col]))
			out[s.out+(s.part*s.per+u)*w.OutIn+s.col] = dsl.Convert[T](below)
		}
	} else {
		for u := range s.has {
			below = op(below, dsl.Convert[C](raw[(s.part*s.per+u)*cols+s.col]))
			out[s.out+(s.part*s.per+u)*w.OutIn+s.col] = dsl.Convert[T](below)
		}
	}
}

// belowPart returns op of what the parts of the thread's column before its own come to, and of
// what all come to, given what the thread's does.
func belowPart[C Computed](t dsl.Thread, parts []C, s *strip, cols int, v, none C, op func(a, b C) C) (below, all C) {
	parts[t.ThreadX()] = v
	t.Sync()
	below, all = none, none
	for m := range s.parts {
		if m == s.part {
			below = all
		}
		all = op(all, parts[m*cols+s.col])
	}
	return below, all
}

// heardColumns returns op of what n tiles, or groups of them, from one on tell of the thread's
// column. The threads of a column share the work.
func heardColumns[C Computed](t dsl.Thread, parts []C, h *handover, s *strip, cols, from, n int, none C, op func(a, b C) C, unpack func(uint64) C) C {
	v := none
	for m := s.part; m < n; m += s.parts {
		v = op(v, unpack(h.hear((from+m)*cols+s.col)))
	}
	_, v = belowPart(t, parts, s, cols, v, none, op)
	return v
}
