package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/block"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Where an operation goes down columns that are contiguous, blocks have tiles of them: all
// rows of a part of w.N, of w.Cols columns, which threads load by vectors along the rows and
// look at down the columns. Tiles of the same columns publish their totals, as tiles of rows do.

// strip is a tile of columns.
type strip struct {
	line, tile int // which of the neighbouring columns, and which of their tiles
	top        int // where these columns begin
	first      int // of them in their row
	x, out     int // where the tile begins
	rows, cols int // that are there
}

// strip returns the tile of a ticket: after one of some columns come the next strip's.
func (w *RowReduction) strip(ticket int, n *ScanTiling) (s strip) {
	i, k := n.Strips.DivMod(ticket)
	r, tile := n.Of.DivMod(i)
	s.tile, s.line, s.first = tile, r*int(n.Strips.By)+k, k*int(w.Cols)
	x, out := w.Row(r, 1)
	row := s.tile * w.stripRows()
	s.top = x + s.first
	s.x, s.out = s.top+row*w.InStep[0], out+row*w.OutIn+s.first
	s.rows, s.cols = min(w.stripRows(), w.N-row), min(int(w.Cols), w.Width-s.first)
	return s
}

// stripRows is how many rows a tile has.
func (w *RowReduction) stripRows() int { return int(w.Block*w.Items*w.Vec) / int(w.Cols) }

// column is what a thread has of a tile: some rows of w.InFlight neighbouring columns.
type column struct {
	col   int // the first one
	part  int // which part of the rows, of
	parts int // so many
	per   int // rows
	lane  int // which of the threads that have these rows
}

func (w *RowReduction) inStrip(t dsl.Thread) column {
	lanes := int(w.Cols / w.InFlight)
	return column{t.ThreadX() % lanes * int(w.InFlight), t.ThreadX() / lanes, int(w.Block) / lanes, int(w.Items * w.Vec / w.InFlight), t.ThreadX() % lanes}
}

// of is how many of its rows are there.
func (c *column) of(s *strip) int {
	if c.col >= s.cols {
		return 0
	}
	return min(c.per, max(0, s.rows-c.part*c.per))
}

// whole reports whether all of the tile is there.
func (s *strip) whole(w *RowReduction) bool { return s.rows == w.stripRows() && s.cols == int(w.Cols) }

// stripLoads is how many vectors of a tile a thread has in flight.
const stripLoads = 8

// stageStrip stages the tile in raw, row by row. Several vectors are in flight. Rows that
// are not there are the last one.
func stageStrip[T dsl.Number](t dsl.Thread, x, raw []T, w RowReduction, s *strip) {
	cols, vec, keep := int(w.Cols), int(w.Vec), int(w.Items)
	if s.cols < cols {
		for i := t.ThreadX(); i < s.rows*cols; i += int(w.Block) {
			if r, c := i/cols, i%cols; c < s.cols {
				raw[i] = x[s.x+r*w.InStep[0]+c]
			}
		}
		return
	}
	lanes, inFlight := cols/vec, max(stripLoads, stageElements/vec)
	for q := 0; q < keep; q += inFlight {
		e := dsl.LocalSlice[T](max(stripLoads*w.Vec, stageElements))
		for u := range min(inFlight, keep-q) {
			row := min((q+u)*(int(w.Block)/lanes)+t.ThreadX()/lanes, s.rows-1)
			at := (s.x + row*w.InStep[0] + t.ThreadX()%lanes*vec) &^ (vec - 1) // which it is: the compiler sees what it may load at once
			for k := range vec {
				e[u*vec+k] = x[at+k]
			}
		}
		for u := range min(inFlight, keep-q) {
			for k := range vec {
				raw[((q+u)*int(w.Block)+t.ThreadX())*vec+k] = e[u*vec+k]
			}
		}
	}
}

// ScanStrips is [ScanCols] of columns that blocks of w.Block threads go through in tiles. The
// totals of tiles and of groups are published as for [ScanTiles].
//
//kiln:kernel
//kiln:const w.Block=256 w.Cols=32 w.Vec=4 w.Items=2 w.InFlight=1,2 each=1
func ScanStrips[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, words []uint32, w RowReduction, n ScanTiling, each dsl.ConstInt, init func(C) C, op func(a, b C) C, pack func(C) uint64, unpack func(uint64) C) {
	dsl.LaunchBounds(t, w.Block, stripBlocks)
	cols := int(w.Cols)
	s, c := w.strip(block.Ticket(t, &words[0]), &n), w.inStrip(t)
	status := block.Status{Words: words[HeadWords+s.line*n.published()*cols*int(each):], Each: each}
	g, j := n.group(s.tile)
	raw := dsl.SharedSlice[T](t, w.Block*w.Items*w.Vec)
	stageStrip(t, x, raw, w, &s)
	var none neighbouring[C]
	for k := range int(w.InFlight) {
		none[k] = init(dsl.Convert[C](x[s.top+min(c.col+k, s.cols-1)]))
	}
	t.Sync()
	// Of three sums of parts the first is read when the last one is written.
	odd := dsl.SharedSlice[C](t, w.Block*w.InFlight)
	even := dsl.SharedSlice[C](t, w.Block*w.InFlight)
	below, all := belowPart(t, odd, &w, &c, ofPart(raw, &w, &s, &c, none, op), none, op)
	if c.part == 0 {
		for k := range int(w.InFlight) {
			status.Publish(s.tile*cols+c.col+k, pack(all[k]))
		}
	}
	own := totalColumns(t, even, &status, &w, &c, g<<n.Bits, j, none, op, unpack)
	if j == 1<<n.Bits-1 && c.part == 0 {
		for k := range int(w.InFlight) {
			status.Publish((int(n.Of.By)+g)*cols+c.col+k, pack(op(own[k], all[k])))
		}
	}
	earlier := totalColumns(t, odd, &status, &w, &c, int(n.Of.By), g, none, op, unpack)
	for k := range int(w.InFlight) {
		below[k] = op(op(earlier[k], own[k]), below[k])
	}
	storePart(out, raw, &w, &s, &c, below, none, op)
}

// stripBlocks is how many tiles are resident on a multiprocessor, as many as its shared memory
// holds on most devices.
const stripBlocks = 5

// neighbouring is what a thread has of its columns: of one or two.
type neighbouring[C core.Computed] = [2]C

// loadColumns returns elements i of a thread's columns, of which there are n.
func loadColumns[T dsl.Number, C core.Computed](x []T, i int, n dsl.ConstInt) (v neighbouring[C]) {
	if n == 1 {
		v[0] = dsl.Convert[C](x[i])
		return v
	}
	for k, e := range dsl.LoadVec[[2]T](x, i) {
		v[k] = dsl.Convert[C](e)
	}
	return v
}

func storeColumns[T dsl.Number, C core.Computed](out []T, i int, n dsl.ConstInt, v neighbouring[C]) {
	if n == 1 {
		out[i] = dsl.Convert[T](v[0])
		return
	}
	dsl.StoreVec(out, i, [2]T{dsl.Convert[T](v[0]), dsl.Convert[T](v[1])})
}

// rowsAtOnce is of how many rows a thread loads its columns at once.
const rowsAtOnce = 4

// inRaw returns where the first row of the thread is in what is kept of the tile, and how far
// the next one is, in what loadColumns counts.
func (c *column) inRaw(w *RowReduction) (at, step int) {
	step = int(w.Cols / w.InFlight)
	return c.part*c.per*step + c.lane, step
}

// ofPart is op of what the thread has of a tile.
func ofPart[T dsl.Number, C core.Computed](raw []T, w *RowReduction, s *strip, c *column, none neighbouring[C], op func(a, b C) C) (all neighbouring[C]) {
	at, step := c.inRaw(w)
	all = none
	if !s.whole(w) {
		for u := range c.of(s) {
			v := loadColumns[T, C](raw, at+u*step, w.InFlight)
			for k := range int(w.InFlight) {
				all[k] = op(all[k], v[k])
			}
		}
		return all
	}
	for u := 0; u < int(w.Items*w.Vec/w.InFlight); u += rowsAtOnce {
		v := loadRows[T, C](raw, at+u*step, step, w.InFlight)
		for i := range rowsAtOnce {
			for k := range int(w.InFlight) {
				all[k] = op(all[k], v[i][k])
			}
		}
	}
	return all
}

// loadRows loads the neighbouring columns of the rows of one iteration of a thread.
func loadRows[T dsl.Number, C core.Computed](raw []T, at, step int, inFlight dsl.ConstInt) (v [rowsAtOnce]neighbouring[C]) {
	for i := range rowsAtOnce {
		v[i] = loadColumns[T, C](raw, at+i*step, inFlight)
	}
	return v
}

// storePart stores the scan of what the thread has of a tile, from what comes before on.
func storePart[T dsl.Number, C core.Computed](out, raw []T, w *RowReduction, s *strip, c *column, below, none neighbouring[C], op func(a, b C) C) {
	at, step := c.inRaw(w)
	to, down := (s.out+c.part*c.per*w.OutIn+c.col)/int(w.InFlight), w.OutIn/int(w.InFlight)
	own := none // of the thread's rows so far
	next := func(v neighbouring[C]) (all neighbouring[C]) {
		for k := range int(w.InFlight) {
			if w.Tree {
				own[k] = op(own[k], v[k])
				all[k] = op(below[k], own[k])
			} else {
				below[k] = op(below[k], v[k])
				all[k] = below[k]
			}
		}
		return all
	}
	if !s.whole(w) {
		for u := range c.of(s) {
			storeColumns(out, to+u*down, w.InFlight, next(loadColumns[T, C](raw, at+u*step, w.InFlight)))
		}
		return
	}
	for u := 0; u < int(w.Items*w.Vec/w.InFlight); u += rowsAtOnce {
		v := loadRows[T, C](raw, at+u*step, step, w.InFlight)
		for i := range rowsAtOnce {
			storeColumns(out, to, w.InFlight, next(v[i]))
			to += down
		}
	}
}

// belowPart returns op of the totals of the parts of the thread's columns before its own, and of
// all of them, given the total of the thread's.
func belowPart[C core.Computed](t dsl.Thread, parts []C, w *RowReduction, c *column, v, none neighbouring[C], op func(a, b C) C) (below, all neighbouring[C]) {
	cols := int(w.Cols)
	below, all = none, none
	for k := range int(w.InFlight) {
		parts[c.part*cols+c.col+k] = v[k]
	}
	t.Sync()
	for m := range int(w.Block*w.InFlight) / cols {
		for k := range int(w.InFlight) {
			if m == c.part {
				below[k] = all[k]
			}
			all[k] = op(all[k], parts[m*cols+c.col+k])
		}
	}
	return below, all
}

// totalColumns returns op of the published totals of n tiles, or groups of them, from one on, in the thread's
// columns. The threads of a column share the work.
func totalColumns[C core.Computed](t dsl.Thread, parts []C, status *block.Status, w *RowReduction, c *column, from, n int, none neighbouring[C], op func(a, b C) C, unpack func(uint64) C) neighbouring[C] {
	v := none
	for m := c.part; m < n; m += c.parts {
		var total [2]uint64
		var ok [2]bool
		at := (from+m)*int(w.Cols) + c.col
		for k := range int(w.InFlight) {
			total[k], ok[k] = status.Poll(at + k)
		}
		for k := range int(w.InFlight) {
			if !ok[k] {
				total[k] = status.Await(at + k)
			}
			v[k] = op(v[k], unpack(total[k]))
		}
	}
	_, v = belowPart(t, parts, w, c, v, none, op)
	return v
}
