package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Tiles is a matrix of matrices that Transpose goes through: x has the elements of a row
// contiguous, and the result those of a column.
type Tiles struct {
	Side    dsl.ConstInt // rows and columns that a block moves at a time
	Threads dsl.ConstInt // of a block, a power of two, each of which loads all its elements of a tile before it stores one; or 0, and they go through the tile in two dimensions
	Lanes   dsl.ConstInt // of these, that are contiguous
	Vec     dsl.ConstInt // neighbours that each of them moves, at multiples of that
	Rows    int
	Cols    int
	XStep   int       // of x, from row to row
	OutStep int       // of the result, from column to column
	Outer   core.Walk // over the matrices, as Dims
}

// Transpose copies matrices whose elements lie the other way round in the result, by
// tiles that are transposed in shared memory: reads and writes are coalesced.
//
//kiln:kernel
//kiln:const w.Side=32 w.Threads=0,256 w.Lanes=8 w.Vec=4
func Transpose[T dsl.Number](t dsl.Thread, out, x []T, w Tiles) {
	side := int(w.Side)
	tile := dsl.SharedSlice[T](t, w.Side*(w.Side+1))
	row0, col0 := t.BlockY()*side, t.BlockX()*side
	rows, cols := min(side, w.Rows-row0), min(side, w.Cols-col0)
	for z := t.BlockZ(); z < w.Outer.N; z += t.GridDimZ() {
		at := w.Outer.Find(z, 0)
		from, to := at[1]+row0*w.XStep+col0, at[0]+col0*w.OutStep+row0
		switch {
		case w.Threads == 0:
			turn(t, out, x, tile, &w, from, to, rows, cols)
		case rows == side && cols == side:
			turnMany(t, out, x, tile, &w, from, to)
		default:
			turnEdge(t, out, x, tile, &w, from, to, rows, cols)
		}
		t.Sync()
	}
}

// turn moves a tile element by element.
func turn[T dsl.Number](t dsl.Thread, out, x, tile []T, w *Tiles, from, to, rows, cols int) {
	pitch := int(w.Side) + 1
	for r := t.ThreadY(); r < rows; r += t.BlockDimY() {
		for c := t.ThreadX(); c < cols; c += t.BlockDimX() {
			tile[r*pitch+c] = x[from+r*w.XStep+c]
		}
	}
	t.Sync()
	for c := t.ThreadY(); c < cols; c += t.BlockDimY() {
		for r := t.ThreadX(); r < rows; r += t.BlockDimX() {
			out[to+c*w.OutStep+r] = tile[r*pitch+c]
		}
	}
}

// turnEdge moves a tile of which not all is there, element by element, with threads in one
// dimension.
func turnEdge[T dsl.Number](t dsl.Thread, out, x, tile []T, w *Tiles, from, to, rows, cols int) {
	side, pitch := int(w.Side), int(w.Side)+1
	for i := t.ThreadX(); i < side*rows; i += int(w.Threads) {
		if r, c := i/side, i%side; c < cols {
			tile[r*pitch+c] = x[from+r*w.XStep+c]
		}
	}
	t.Sync()
	for i := t.ThreadX(); i < side*cols; i += int(w.Threads) {
		if c, r := i/side, i%side; r < rows {
			out[to+c*w.OutStep+r] = tile[r*pitch+c]
		}
	}
}

// turnMany moves a whole tile, with all loads of a thread in flight.
func turnMany[T dsl.Number](t dsl.Thread, out, x, tile []T, w *Tiles, from, to int) {
	pitch, vec := int(w.Side)+1, int(w.Vec)
	many := w.Side * w.Side / w.Threads
	in := dsl.LocalSlice[T](many)
	for k := range int(many) / vec {
		r, c := w.place(t, k)
		a := (from + r*w.XStep + c) &^ (vec - 1) // which it is: the compiler sees what it may load at once
		for j := range vec {
			in[k*vec+j] = x[a+j]
		}
	}
	for k := range int(many) / vec {
		r, c := w.place(t, k)
		for j := range vec {
			tile[r*pitch+c+j] = in[k*vec+j]
		}
	}
	t.Sync()
	for k := range int(many) / vec {
		c, r := w.place(t, k)
		a := (to + c*w.OutStep + r) &^ (vec - 1)
		for j := range vec {
			out[a+j] = tile[(r+j)*pitch+c]
		}
	}
}

// place returns the position of a thread's vector k in a tile: which line, and from which
// element of that on.
func (w *Tiles) place(t dsl.Thread, k int) (line, first int) {
	lanes, vec := int(w.Lanes), int(w.Vec)
	parts := int(w.Side) / (lanes * vec) // of a line, of all lanes
	line = t.ThreadX()/lanes + k/parts*(int(w.Threads)/lanes)
	return line, (t.ThreadX()%lanes + k%parts*lanes) * vec
}
