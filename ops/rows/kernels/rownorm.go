package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/block"
	"github.com/gokiln/kiln/dsl/fast"
	core "github.com/gokiln/kiln/ops/kernels"
)

// line is a row, or a part of one, that a Group of threads reduces: each has the
// elements that are apart by the size of the Group, or vectors that are.
type line struct {
	lane, group int
	row         int
	x, out      int // where the row begins
	first, n    int // the part of it
}

// eachLine calls f for all rows, of which each Group has one at a time. Groups without
// a row do the last one again, and do not store.
func eachLine(t dsl.Thread, w Fold, f func(l line, store bool)) {
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

// ahead is how many loads a thread has in flight.
const ahead = 8

// shared is an all-reduce of a number of each thread of a Group.
func shared[C core.Computed](t dsl.Thread, w Fold, v C, op func(a, b C) C) C {
	if w.Group == 0 {
		return block.Reduce(t, w.Block, v, op)
	}
	for d := 1; d < int(w.Group); d *= 2 {
		v = op(v, dsl.ShuffleXor(t, v, d))
	}
	return v
}

func sum[C dsl.Real](a, b C) C   { return a + b }
func upper[C dsl.Real](a, b C) C { return max(a, b) }

// higher is the larger one of two numbers, a if b is none: the sum of the exponentials of the
// distances from the largest one of a row is NaN then all the same.
func higher[C dsl.Real](a, b C) C {
	if b > a {
		return b
	}
	return a
}

// sweep adds the elements of a row that are the thread's to start. step gets an element and
// which one of the row it is.
func sweep[T dsl.Number, C core.Computed](x []T, w Fold, l line, start C, step func(a, x C, i int) C, merge func(a, b C) C) C {
	span, all := core.TreeSteps*ahead*l.group, start
	for i := 0; i < w.N; i += core.TreeSteps * span {
		part := start
		for j := i; j < min(w.N, i+core.TreeSteps*span); j += span {
			part = merge(part, sweepPart(x, w, l, j, min(w.N, j+span), start, step, merge))
		}
		all = merge(all, part)
	}
	return all
}

// sweepPart is sweep of the elements from j on, up to the end of a part.
func sweepPart[T dsl.Number, C core.Computed](x []T, w Fold, l line, j, end int, start C, step func(a, x C, i int) C, merge func(a, b C) C) C {
	var acc [ahead]C
	for u := range acc {
		acc[u] = start
	}
	g := l.group
	for ; j+ahead*g <= end; j += ahead * g {
		var v [ahead]C
		for u := range ahead {
			v[u] = dsl.Convert[C](x[l.x+w.at(j+u*g+l.lane)])
		}
		for u := range ahead {
			acc[u] = step(acc[u], v[u], j+u*g+l.lane)
		}
	}
	for i := j + l.lane; i < end; i += g {
		acc[0] = step(acc[0], dsl.Convert[C](x[l.x+w.at(i)]), i)
	}
	for n := ahead / 2; n > 0; n /= 2 {
		for u := range n {
			acc[u] = merge(acc[u], acc[u+n])
		}
	}
	return acc[0]
}

// each stores f of the elements of a row that are the thread's.
func each[T dsl.Float, C dsl.Real](out, x []T, w Fold, l line, f func(x C, i int) C) {
	g, j := l.group, 0
	for ; j+ahead*g <= w.N; j += ahead * g {
		var v [ahead]C
		for u := range ahead {
			v[u] = dsl.Convert[C](x[l.x+w.at(j+u*g+l.lane)])
		}
		for u := range ahead {
			i := j + u*g + l.lane
			out[l.out+w.to(i)] = dsl.Convert[T](f(v[u], i))
		}
	}
	for i := j + l.lane; i < w.N; i += g {
		out[l.out+w.to(i)] = dsl.Convert[T](f(dsl.Convert[C](x[l.x+w.at(i)]), i))
	}
}

// to returns where the result of element i of a row is, in the row.
func (w *Fold) to(i int) int {
	if w.Unit {
		return i
	}
	return i * w.OutIn
}

// from is the part of s from the first element on that is the thread's, of a row that
// begins at base: what the thread keeps lies at multiples of the Group's size in it. With
// these known to the compiler there is one address for all of them.
func from[T dsl.Float](s []T, w Fold, l line, base int) []T {
	if w.Full {
		return s[base+l.lane:]
	}
	return s[base+min(l.lane, l.n-1):]
}

// place returns which element of a part is element u that a thread keeps.
func (l line) place(w Fold, u int) int {
	v := int(w.Vec)
	return (u/v)*(v*l.group) + l.lane*v + u%v
}

// has reports whether element u that a thread keeps is one of the row.
func (l line) has(w Fold, u int) bool { return bool(w.Full) || l.place(w, u) < l.n }

// take loads the elements of a part that a thread keeps; others are none.
func take[T dsl.Float, C dsl.Real](x []T, w Fold, l line, base int, none C, v []C) {
	if w.Vec > 1 {
		at := base/int(w.Vec) + l.lane
		for q := range int(w.Keep) / int(w.Vec) {
			var p [MostAhead]C
			if l.has(w, q*int(w.Vec)) {
				loadVec(x, w, at+q*l.group, &p, 0)
			}
			for k := range int(w.Vec) {
				v[q*int(w.Vec)+k] = none
				if l.has(w, q*int(w.Vec)) {
					v[q*int(w.Vec)+k] = p[k]
				}
			}
		}
		return
	}
	xs := from(x, w, l, base)
	for u := range int(w.Keep) {
		v[u] = none
		if l.has(w, u) {
			v[u] = dsl.Convert[C](xs[u*l.group])
		}
	}
}

// give stores the elements that a thread has in registers.
func give[T dsl.Float, C dsl.Real](out []T, w Fold, l line, base int, v []C) {
	if w.Vec > 1 {
		at := base/int(w.Vec) + l.lane
		for q := range int(w.Keep) / int(w.Vec) {
			if l.has(w, q*int(w.Vec)) {
				storeVec(out, w, at+q*l.group, v, q*int(w.Vec))
			}
		}
		return
	}
	ys := from(out, w, l, base)
	for u := range int(w.Keep) {
		if l.has(w, u) {
			ys[u*l.group] = dsl.Convert[T](v[u])
		}
	}
}

// storeVec stores elements of v from one on as vector i of out, of w.Vec elements.
func storeVec[T dsl.Number, C core.Computed](out []T, w Fold, i int, v []C, from int) {
	switch w.Vec {
	case 2:
		var p [2]T
		for k := range p {
			p[k] = dsl.Convert[T](v[from+k])
		}
		dsl.StoreVec(out, i, p)
	case 4:
		var p [4]T
		for k := range p {
			p[k] = dsl.Convert[T](v[from+k])
		}
		dsl.StoreVec(out, i, p)
	case 8:
		var p [8]T
		for k := range p {
			p[k] = dsl.Convert[T](v[from+k])
		}
		dsl.StoreVec(out, i, p)
	case 16:
		var p [16]T
		for k := range p {
			p[k] = dsl.Convert[T](v[from+k])
		}
		dsl.StoreVec(out, i, p)
	}
}

// expOf is the exponential of x, as halves need it if quick.
func expOf[C dsl.Real](x C, quick dsl.ConstBool) C {
	if quick {
		return C(fast.Exp(float32(x)))
	}
	return dsl.Exp(x)
}

// Softmax stores exp(x) of a row over the sum of it, and the logarithm of that if log.
// It is NaN where the row has NaN or +Inf, or nothing but -Inf. bottom is -Inf. Threads keep
// the rows; [SoftmaxAgain] is for those that they do not. One kernel is for shares and for
// logarithms: the two differ by a branch for each row.
//
//kiln:kernel
//kiln:const w.Keep=4,8
func Softmax[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, w Fold, bottom C, log bool, quick dsl.ConstBool) {
	eachLine(t, w, func(l line, store bool) {
		v := dsl.LocalSlice[C](w.Keep)
		take(x, w, l, l.x, bottom, v)
		m := shared(t, w, largest(w, v), upper[C])
		s := shared(t, w, expSum(w, v, m, log, quick), sum[C])
		if store {
			shareOut(w, v, m, s, 1, log)
			give(out, w, l, l.out, v)
		}
	})
}

// SoftmaxAgain is [Softmax] of rows that are read again. What has more than 16 bits keeps the
// exponentials in the place of the results until their sum is known.
//
//kiln:kernel
func SoftmaxAgain[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, w Fold, bottom C, log bool, quick dsl.ConstBool) {
	eachLine(t, w, func(l line, store bool) {
		m := shared(t, w, sweep(x, w, l, bottom, func(a, x C, _ int) C { return higher(a, x) }, higher[C]), higher[C])
		if bool(quick) || log {
			s := shared(t, w, sweep(x, w, l, 0, func(a, x C, _ int) C { return a + expOf(x-m, quick) }, sum[C]), sum[C])
			if store && log {
				f := dsl.Log(s)
				each(out, x, w, l, func(x C, _ int) C { return x - m - f })
			} else if store {
				f := 1 / s
				each(out, x, w, l, func(x C, _ int) C { return expOf(x-m, quick) * f })
			}
			return
		}
		s := sweep(x, w, l, 0, func(a, x C, i int) C {
			e := expOf(x-m, quick)
			if store {
				out[l.out+w.to(i)] = dsl.Convert[T](e)
			}
			return a + e
		}, sum[C])
		if f := 1 / shared(t, w, s, sum[C]); store {
			l.x = l.out
			each(out, out, w, l, func(e C, _ int) C { return e * f })
		}
	})
}

// largest is the largest of what a thread keeps.
func largest[C dsl.Real](w Fold, v []C) C {
	m := v[0]
	for u := range int(w.Keep) {
		m = max(m, v[u])
	}
	return m
}

// expSum adds the exponentials of the distances from m, which are what is kept then, but
// for logarithms.
func expSum[C dsl.Real](w Fold, v []C, m C, log bool, quick dsl.ConstBool) (s C) {
	for u := range int(w.Keep) {
		if log {
			s += expOf(v[u]-m, quick)
		} else {
			v[u] = expOf(v[u]-m, quick)
			s += v[u]
		}
	}
	return s
}

// shareOut makes of what [expSum] left the results, from the maximum and the sum of the
// row; part is what the exponentials have to be multiplied by.
func shareOut[C dsl.Real](w Fold, v []C, m, s, part C, log bool) {
	f := part / s
	if log {
		f = dsl.Log(s)
	}
	for u := range int(w.Keep) {
		if log {
			v[u] = v[u] - m - f
		} else {
			v[u] *= f
		}
	}
}

// SoftmaxOf is the second pass of [Softmax], when the maximum of each row is known, and the
// [Inverse] or [Logarithm] of the sum of exp(x-max).
//
//kiln:kernel
func SoftmaxOf[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, m, s []C, w core.Walk, f func(x, m, s C) C) {
	w.Each(t, func(at [core.Operands]int) {
		out[at[0]] = dsl.Convert[T](f(dsl.Convert[C](x[at[1]]), m[at[2]], s[at[2]]))
	})
}

// Share is exp(x-m) times the inverse of a sum.
func Share[C dsl.Real](x, m, inverse C) C { return dsl.Exp(x-m) * inverse }

// LogShare is the logarithm of [Share], given that of the sum.
func LogShare[C dsl.Real](x, m, logarithm C) C { return x - m - logarithm }

// Inverse is 1/w.
func Inverse[C dsl.Real](w, _, _ C) C { return 1 / w }

// Logarithm is that of w.
func Logarithm[C dsl.Real](w, _, _ C) C { return dsl.Log(w) }

// InverseRoot is 1 over the root of w/n and eps.
func InverseRoot[C dsl.Real](w, n, eps C) C { return 1 / dsl.Sqrt(w/n+eps) }

// Norm stores the elements of a row over the root of the mean of their squares and eps,
// times scale, if there is one. With center it subtracts the mean of the row first, and
// with a shift adds that at the end.
//
//kiln:kernel
func Norm[T dsl.Float, C dsl.Real](t dsl.Thread, out, x, scale, shift []T, w Fold, eps C, center, scaled, shifted dsl.ConstBool) {
	n := dsl.Convert[C](w.N)
	eachLine(t, w, func(l line, store bool) {
		if w.Keep == 0 {
			m := C(0)
			if center {
				m = shared(t, w, sweep(x, w, l, 0, func(a, x C, _ int) C { return a + x }, sum[C]), sum[C]) / n
			}
			s := sweep(x, w, l, 0, func(a, x C, _ int) C { return dsl.FMA(x-m, x-m, a) }, sum[C])
			f := 1 / dsl.Sqrt(shared(t, w, s, sum[C])/n+eps)
			if store {
				each(out, x, w, l, func(x C, i int) C {
					return weighted((x-m)*f, scale, shift, i, scaled, shifted)
				})
			}
			return
		}
		v := dsl.LocalSlice[C](w.Keep)
		take(x, w, l, l.x, 0, v)
		if center {
			m := shared(t, w, total(w, v), sum[C]) / n
			distances(w, l, v, m)
		}
		f := 1 / dsl.Sqrt(shared(t, w, squares(w, v), sum[C])/n+eps)
		if store {
			weigh(w, l, v, f, scale, shift, scaled, shifted)
			give(out, w, l, l.out, v)
		}
	})
}

// total adds what a thread keeps.
func total[C dsl.Real](w Fold, v []C) (s C) {
	for u := range int(w.Keep) {
		s += v[u]
	}
	return s
}

// squares adds the squares of what a thread keeps.
func squares[C dsl.Real](w Fold, v []C) (s C) {
	for u := range int(w.Keep) {
		s += v[u] * v[u]
	}
	return s
}

// distances subtracts m from what a thread keeps; what is none of the row stays 0.
func distances[C dsl.Real](w Fold, l line, v []C, m C) {
	for u := range int(w.Keep) {
		v[u] -= m
		if !l.has(w, u) {
			v[u] = 0
		}
	}
}

// weigh multiplies what a thread keeps by f and scale, and adds shift.
func weigh[T dsl.Float, C dsl.Real](w Fold, l line, v []C, f C, scale, shift []T, scaled, shifted dsl.ConstBool) {
	if w.Vec > 1 {
		at := l.first/int(w.Vec) + l.lane
		for q := range int(w.Keep) / int(w.Vec) {
			var a, b [MostAhead]C
			if bool(scaled) && l.has(w, q*int(w.Vec)) {
				loadVec(scale, w, at+q*l.group, &a, 0)
			}
			if bool(shifted) && l.has(w, q*int(w.Vec)) {
				loadVec(shift, w, at+q*l.group, &b, 0)
			}
			for k := range int(w.Vec) {
				x := v[q*int(w.Vec)+k] * f
				if scaled {
					x *= a[k]
				}
				if shifted {
					x += b[k]
				}
				v[q*int(w.Vec)+k] = x
			}
		}
		return
	}
	a, b := scale, shift
	if scaled {
		a = from(scale, w, l, l.first)
	}
	if shifted {
		b = from(shift, w, l, l.first)
	}
	for u := range int(w.Keep) {
		if l.has(w, u) {
			v[u] = weighted(v[u]*f, a, b, u*l.group, scaled, shifted)
		}
	}
}

// weighted is x times element i of scale plus that of shift, if there are.
func weighted[T dsl.Float, C dsl.Real](x C, scale, shift []T, i int, scaled, shifted dsl.ConstBool) C {
	if scaled {
		x *= dsl.Convert[C](scale[i])
	}
	if shifted {
		x += dsl.Convert[C](shift[i])
	}
	return x
}

// NormOf is the second pass of [Norm], when the mean of each row and the factor are known.
//
//kiln:kernel
func NormOf[T dsl.Float, C dsl.Real](t dsl.Thread, out, x, scale, shift []T, mean, factor []C, w core.Walk, center, scaled, shifted dsl.ConstBool) {
	w.Each(t, func(at [core.Operands]int) {
		v := dsl.Convert[C](x[at[1]])
		if center {
			v -= mean[at[2]]
		}
		out[at[0]] = dsl.Convert[T](weighted(v*factor[at[2]], scale, shift, at[3], scaled, shifted))
	})
}
