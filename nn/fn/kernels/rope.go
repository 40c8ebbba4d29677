package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops/kernels"
)

// Rotation says where the pairs of elements are that [Rope] rotates, of tensors of four dimensions:
// batch, heads, positions and Width elements, of which the first 2·Pairs are rotated.
type Rotation struct {
	Size  [3]int // batch, heads, positions
	Pairs int
	Width int

	X, Out [4]int // the steps of dimensions
	Table  [2]int // those of the batch and of positions in the tables, which have Pairs columns

	Div  [2]kernels.Divisor // of Size[1] and Size[2]
	Wide dsl.ConstBool      // there are too many rows for Div

	Interleaved dsl.ConstBool // a pair is neighbours, and not Pairs apart
	Contiguous  dsl.ConstBool // rows are contiguous, in x and out
	Vectors     dsl.ConstBool // and begin at multiples of four elements, as halves of rows and tables do
}

// start returns where a row, of a batch, a head and a position, begins in the operands and in the
// tables.
func (w *Rotation) start(row int) (x, out, table int) {
	var at [3]int
	if w.Wide {
		at[2] = row % w.Size[2]
		row /= w.Size[2]
		at[1] = row % w.Size[1]
		at[0] = row / w.Size[1]
	} else {
		row, at[2] = w.Div[1].DivMod(row)
		at[0], at[1] = w.Div[0].DivMod(row)
	}
	return dot(at, &w.X), dot(at, &w.Out), at[0]*w.Table[0] + at[2]*w.Table[1]
}

// items is how many there are at a position of a head.
func (w *Rotation) items() int { return w.Width - w.Pairs }

// columns are those of a pair.
func (w *Rotation) columns(pair int) (a, b int) {
	if w.Interleaved {
		return 2 * pair, 2*pair + 1
	}
	return pair, pair + w.Pairs
}

func dot(at [3]int, step *[4]int) int { return at[0]*step[0] + at[1]*step[1] + at[2]*step[2] }

// Rope rotates pairs of elements by the angles whose cosines and sines the tables have (Su et al.,
// "RoFormer: enhanced transformer with rotary position embedding", 2021, equation 34). A row of
// threads has a row of x: each thread takes pairs, and elements that stay. The direction is 1, or
// -1 for the other way round.
//
//kiln:kernel
func Rope[T, O dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, cos, sin []O, w Rotation, direction C) {
	row := t.BlockX()*t.BlockDimY() + t.ThreadY()
	if row >= w.Size[0]*w.Size[1]*w.Size[2] {
		return
	}
	if w.Contiguous {
		w.X[3], w.Out[3] = 1, 1 // known to the compiler
	}
	from, to, table := w.start(row)
	if w.Vectors {
		rotateVectors[T, O, C](t, out, x, cos, sin, &w, direction, from/4, to/4, table/4)
		return
	}
	for i := t.ThreadX(); i < w.items(); i += t.BlockDimX() {
		if i >= w.Pairs {
			c := i + w.Pairs
			out[to+c*w.Out[3]] = x[from+c*w.X[3]]
			continue
		}
		c, s := dsl.Convert[C](cos[table+i]), direction*dsl.Convert[C](sin[table+i])
		m, n := w.columns(i)
		a, b := dsl.Convert[C](x[from+m*w.X[3]]), dsl.Convert[C](x[from+n*w.X[3]])
		out[to+m*w.Out[3]] = dsl.Convert[T](a*c - b*s)
		out[to+n*w.Out[3]] = dsl.Convert[T](a*s + b*c)
	}
}

// rotateVectors rotates a row in vectors of four elements, for all of which it is where it begins.
func rotateVectors[T, O dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, cos, sin []O, w *Rotation, direction C, from, to, table int) {
	half := w.Pairs / 4
	for i := t.ThreadX(); i < w.items()/4; i += t.BlockDimX() {
		if i >= half {
			dsl.StoreVec(out, to+i+half, dsl.LoadVec[[4]T](x, from+i+half))
			continue
		}
		c, s := dsl.LoadVec[[4]O](cos, table+i), dsl.LoadVec[[4]O](sin, table+i)
		a, b := dsl.LoadVec[[4]T](x, from+i), dsl.LoadVec[[4]T](x, from+i+half)
		var low, high [4]T
		for j := range 4 {
			cj, sj := dsl.Convert[C](c[j]), direction*dsl.Convert[C](s[j])
			aj, bj := dsl.Convert[C](a[j]), dsl.Convert[C](b[j])
			low[j], high[j] = dsl.Convert[T](aj*cj-bj*sj), dsl.Convert[T](aj*sj+bj*cj)
		}
		dsl.StoreVec(out, to+i, low)
		dsl.StoreVec(out, to+i+half, high)
	}
}
