package kernels

import "github.com/gokiln/kiln/dsl"

// Turns says where the pairs of elements are that [Rope] rotates, of tensors of four dimensions:
// batch, heads, positions and Width elements, of which the first 2·Pairs are rotated.
type Turns struct {
	Size  [3]int // batch, heads, positions
	Pairs int
	Width int

	X, Out [4]int // the steps of dimensions
	Table  [2]int // those of the batch and of positions in the tables, which have Pairs columns

	Interleaved dsl.ConstBool // a pair is neighbours, and not Pairs apart
}

// index returns the batch, head, position and column of item i: pairs come first, and behind them
// the elements that stay.
func (w *Turns) index(i int) (at [4]int) {
	n := w.items()
	at[3] = i % n
	i /= n
	at[2] = i % w.Size[2]
	i /= w.Size[2]
	at[1] = i % w.Size[1]
	at[0] = i / w.Size[1]
	return at
}

// items is how many there are at a position of a head.
func (w *Turns) items() int { return w.Width - w.Pairs }

// columns are those of a pair.
func (w *Turns) columns(pair int) (a, b int) {
	if w.Interleaved {
		return 2 * pair, 2*pair + 1
	}
	return pair, pair + w.Pairs
}

func dot(at [4]int, step *[4]int, column int) int {
	return at[0]*step[0] + at[1]*step[1] + at[2]*step[2] + column*step[3]
}

// Rope rotates pairs of elements by the angles whose cosines and sines the tables have (Su et al.,
// "RoFormer: enhanced transformer with rotary position embedding", 2021, equation 34). A thread has
// a pair, or an element that stays. The direction is 1, or -1 for the other way round.
//
//kiln:kernel
func Rope[T, O dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, cos, sin []O, w Turns, direction C) {
	i := t.Global()
	if i >= w.Size[0]*w.Size[1]*w.Size[2]*w.items() {
		return
	}
	at := w.index(i)
	if at[3] >= w.Pairs {
		c := at[3] + w.Pairs
		out[dot(at, &w.Out, c)] = x[dot(at, &w.X, c)]
		return
	}
	k := at[0]*w.Table[0] + at[2]*w.Table[1] + at[3]
	c, s := dsl.Convert[C](cos[k]), direction*dsl.Convert[C](sin[k])
	m, n := w.columns(at[3])
	a, b := dsl.Convert[C](x[dot(at, &w.X, m)]), dsl.Convert[C](x[dot(at, &w.X, n)])
	out[dot(at, &w.Out, m)] = dsl.Convert[T](a*c - b*s)
	out[dot(at, &w.Out, n)] = dsl.Convert[T](a*s + b*c)
}
