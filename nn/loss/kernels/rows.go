package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/fast"
)

// Rows are Count rows of Classes elements of a contiguous tensor. Neighbours of a row are Inner
// apart, as are those of a dimension that has Inner elements behind it.
type Rows struct{ Count, Classes, Inner int }

// first returns where a row begins.
func (r *Rows) first(row int) int { return row/r.Inner*r.Classes*r.Inner + row%r.Inner }

// check ends the thread with an error if a target is neither -1 nor a class.
func (r *Rows) check(t dsl.Thread, id, row int) {
	dsl.Assert(t, id >= -1 && id < r.Classes, "cross_entropy: target %d at position %d is out of range", id, row)
}

// rowState is the state of an online softmax over a part of a row: the largest, the sum of the
// exponentials of all less it, and the sum of all times their weights (Milakov and Gimelshein,
// "Online normalizer calculation for softmax", 2018).
type rowState[C dsl.Real] struct{ most, sum, weighted C }

// InFlight is how many elements a thread loads before it computes with them.
const InFlight = 8

// exponential is eˣ for elements of type T: as the device has it where these have fewer bits than
// float32.
func exponential[T dsl.Float, C dsl.Real](x C) C {
	if odd := C(1<<12 + 1); dsl.Convert[C](dsl.Convert[T](odd)) != odd {
		return C(fast.Exp(float32(x)))
	}
	return dsl.Exp(x)
}

// add adds elements of type T to a state, of which those that are -Inf count for nothing. The sum is
// scaled once for all of them.
func add[T dsl.Float, C dsl.Real](a *rowState[C], v *[InFlight]C) {
	most := a.most
	for u := range InFlight {
		most = max(most, v[u])
	}
	by := finite(most)
	sum := a.sum * exponential[T](a.most-by)
	for u := range InFlight {
		sum += exponential[T](v[u] - by)
	}
	a.most, a.sum = most, sum
}

// finite is x, or 0 if it is -Inf, which nothing is relative to.
func finite[C dsl.Real](x C) C {
	if x == negInf[C]() {
		return 0
	}
	return x
}

// negInf is -Inf.
func negInf[C dsl.Real]() C {
	var zero C
	return dsl.Log(zero)
}

// below is the sum relative to the largest element of more than this part.
func (a *rowState[C]) below(most C) C { return a.sum * dsl.Exp(finite(a.most)-finite(most)) }

// weight is that of a class: 1 where there are none.
func weight[C dsl.Real](w []C, class int, weighted dsl.ConstBool) C {
	if weighted {
		return w[class]
	}
	return 1
}

// rowStateOf goes over every step-th element of a row from one on.
func rowStateOf[T dsl.Float, C dsl.Real](x []T, w []C, r *Rows, row, from, step int, smooth, weighted dsl.ConstBool) rowState[C] {
	a := rowState[C]{most: negInf[C]()}
	first := r.first(row)
	c := from
	var v [InFlight]C
	for ; c+(InFlight-1)*step < r.Classes; c += step * InFlight {
		for u := range InFlight {
			v[u] = dsl.Convert[C](x[first+(c+u*step)*r.Inner])
		}
		add[T](&a, &v)
		if smooth {
			for u := range InFlight {
				a.weighted += weight(w, c+u*step, weighted) * v[u]
			}
		}
	}
	for u := range InFlight {
		v[u] = negInf[C]()
		if at := c + u*step; at < r.Classes {
			v[u] = dsl.Convert[C](x[first+at*r.Inner])
			if smooth {
				a.weighted += weight(w, at, weighted) * v[u]
			}
		}
	}
	add[T](&a, &v)
	return a
}

// store stores the results of a row: the logarithm of the sum of exponentials, the element of the
// target, 0 of target -1, and the weighted sum.
func (a *rowState[C]) store(t dsl.Thread, out []C, picked C, r *Rows, row int, smooth dsl.ConstBool) {
	out[row] = a.most + dsl.Log(a.sum)
	out[r.Count+row] = picked
	if smooth {
		out[2*r.Count+row] = a.weighted
	}
}

// picked is the element of the target of a row.
func picked[T dsl.Float, C dsl.Real](x []T, r *Rows, row, id int) C {
	if id < 0 || id >= r.Classes {
		return 0
	}
	return dsl.Convert[C](x[r.first(row)+id*r.Inner])
}

// RowStats stores three numbers of each row, in three rows of out: see store. A block reduces one
// row, whose elements are next to each other. What is not smooth has no third.
//
//kiln:kernel
func RowStats[T dsl.Float, C dsl.Real](t dsl.Thread, out []C, x []T, ids []int64, w []C, r Rows, smooth, weighted dsl.ConstBool) {
	r.Inner = 1 // known to the compiler
	row := t.BlockX()
	a := rowStateOf[T, C](x, w, &r, row, t.ThreadX(), t.BlockDimX(), smooth, weighted)
	most := dsl.BlockMax(t, a.most)
	a.sum = dsl.BlockSum(t, a.below(most))
	a.most = most
	if smooth {
		a.weighted = dsl.BlockSum(t, a.weighted)
	}
	if t.ThreadX() == 0 { // behind the last barrier, as it may end here
		id := int(ids[row])
		a.store(t, out, picked[T, C](x, &r, row, id), &r, row, smooth)
		r.check(t, id, row)
	}
}

// ColumnStats is [RowStats] with a thread for each row: neighbouring threads have neighbouring
// elements where rows have other elements in between.
//
//kiln:kernel
func ColumnStats[T dsl.Float, C dsl.Real](t dsl.Thread, out []C, x []T, ids []int64, w []C, r Rows, smooth, weighted dsl.ConstBool) {
	row := t.Global()
	if row >= r.Count {
		return
	}
	a := rowStateOf[T, C](x, w, &r, row, 0, 1, smooth, weighted)
	id := int(ids[row])
	a.store(t, out, picked[T, C](x, &r, row, id), &r, row, smooth)
	r.check(t, id, row)
}

// slope is what the gradient of a class of a row is: of the logarithm of the sum of exponentials
// the softmax, of the picked element 1 at the target, of the weighted sum the weight.
type slope[C dsl.Real] struct {
	lse, gLse, gPicked, gWeighted C
	id                            int
}

func slopeOf[C dsl.Real](stats, g []C, ids []int64, r *Rows, row int, smooth dsl.ConstBool) slope[C] {
	s := slope[C]{lse: stats[row], gLse: g[row], gPicked: g[r.Count+row], id: int(ids[row])}
	if smooth {
		s.gWeighted = g[2*r.Count+row]
	}
	return s
}

// of is the gradient of a class whose part of the softmax is p: 0 where no gradient comes in, whatever
// that is.
func (s *slope[C]) of(p, w C, class int) C {
	d := s.gLse * p
	if s.gLse == 0 {
		d = 0
	}
	d += s.gWeighted * w
	if class == s.id {
		d += s.gPicked
	}
	return d
}

// RowSlopes stores the gradient of x of [RowStats], whose results are stats and have the gradient
// g. A block has a row.
//
//kiln:kernel
func RowSlopes[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, ids []int64, stats, g, w []C, r Rows, smooth, weighted dsl.ConstBool) {
	row := t.BlockX()
	s := slopeOf(stats, g, ids, &r, row, smooth)
	first, step := row*r.Classes, t.BlockDimX()
	var v [InFlight]C
	for c := t.ThreadX(); c < r.Classes; c += step * InFlight {
		for u := range InFlight {
			v[u] = dsl.Convert[C](x[first+min(c+u*step, r.Classes-1)]) // of the row, so that nothing branches
		}
		for u := range InFlight {
			if at := c + u*step; at < r.Classes {
				out[first+at] = dsl.Convert[T](s.of(exponential[T](v[u]-s.lse), weight(w, at, weighted), at))
			}
		}
	}
}

// ColumnSlopes is [RowSlopes] with a thread for each row.
//
//kiln:kernel
func ColumnSlopes[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, ids []int64, stats, g, w []C, r Rows, smooth, weighted dsl.ConstBool) {
	row := t.Global()
	if row >= r.Count {
		return
	}
	s := slopeOf(stats, g, ids, &r, row, smooth)
	first := r.first(row)
	for c := range r.Classes {
		i := first + c*r.Inner
		out[i] = dsl.Convert[T](s.of(exponential[T](dsl.Convert[C](x[i])-s.lse), weight(w, c, weighted), c))
	}
}
