package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/block"
	core "github.com/gokiln/kiln/ops/kernels"
)

// line is a row, or a part of one, of a Group of threads. A thread has every element, or vector,
// whose index is its lane modulo the size of the Group.
type line struct {
	lane, group int
	row         int
	x, out      int // where it begins
	first, n    int // the part: n elements of the row from the first on
}

// rowOf is row r of the whole block.
func (w *RowReduction) rowOf(t dsl.Thread, r int) line {
	x, out := w.Row(r, 0)
	return line{t.ThreadX(), int(w.Block), r, x, out, 0, w.N}
}

// eachLine calls f for all rows, each of a Group of threads. A Group without a row computes the
// last one, and does not store it.
func eachLine(t dsl.Thread, w RowReduction, f func(l line, store bool)) {
	g, per, lane, sub := int(w.Group), 1, t.ThreadX(), 0
	if g == 0 {
		g = int(w.Block)
	} else if !w.Whole {
		lane, sub, per = t.ThreadX()%g, t.ThreadX()/g, t.BlockDimX()/g
	}
	first, end, step := w.rows(t, per)
	for r0 := first; r0 < end; r0 += step {
		r := min(r0+sub, w.Rows-1)
		x, out := w.Row(r, 0)
		f(line{lane, g, r, x, out, 0, w.N}, r0+sub < w.Rows)
	}
}

// index returns which element of the part item u of the thread is.
func (l line) index(w RowReduction, u int) int {
	v := int(w.Vec)
	return (u/v)*(v*l.group) + l.lane*v + u%v
}

// has reports whether item u of the thread is an element of the part.
func (l line) has(w RowReduction, u int) bool { return bool(w.Full) || l.index(w, u) < l.n }

// items is how many elements the thread has.
func (l line) items(w RowReduction) int {
	if w.Full {
		return int(w.Items)
	}
	vec := int(w.Vec)
	return vec * (max(0, l.n/vec-l.lane+l.group-1) / l.group)
}

// allReduce combines a number of each thread of a Group; all of them have the result.
func allReduce[C core.Computed](t dsl.Thread, w RowReduction, v C, op func(a, b C) C) C {
	if w.Group == 0 {
		return block.Reduce(t, w.Block, v, op)
	}
	for d := 1; d < int(w.Group); d *= 2 {
		v = op(v, dsl.ShuffleXor(t, v, d))
	}
	return v
}

// outAt returns where the result of element i of a row is, in the row.
func (w *RowReduction) to(i int) int {
	if w.Contiguous {
		return i
	}
	return i * w.OutIn
}

// threads is how many threads the block has: a constant where w.Block says it.
func (w *RowReduction) threads(t dsl.Thread) int {
	if w.Block > 0 {
		return int(w.Block)
	}
	return t.BlockDimX()
}

// warps is how many warps the block has.
func (w *RowReduction) warps(t dsl.Thread) int { return w.threads(t) / t.WarpSize() }
