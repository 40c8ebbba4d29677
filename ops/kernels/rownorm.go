package kernels

import "github.com/gokiln/kiln/dsl"

// line is a row in the hands of a Group of threads: each has the elements that are
// apart by the size of the Group.
type line struct {
	lane, group int
	row         int
	x, out      int // where the row begins
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
	for r0 := t.BlockX() * per; r0 < w.Rows; r0 += t.GridDimX() * per {
		r := min(r0+sub, w.Rows-1)
		x, out := w.row(r, 0)
		f(line{lane, g, r, x, out}, r0+sub < w.Rows)
	}
}

// ahead is how many elements a thread loads before it looks at them.
const ahead = 8

// shared combines a number of each thread of a Group, and gives all of them the result.
func shared[C dsl.Real](t dsl.Thread, w Fold, v C, op func(a, b C) C) C {
	g := int(w.Group)
	if g == 0 {
		g = t.WarpSize()
	}
	for d := g / 2; d > 0; d /= 2 {
		v = op(v, dsl.ShuffleXor(t, v, d))
	}
	if w.Group > 0 {
		return v
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

func sum[C dsl.Real](a, b C) C   { return a + b }
func upper[C dsl.Real](a, b C) C { return max(a, b) }

// sweep adds the elements of a row that are the thread's to start.
func sweep[T dsl.Number, C Computed](x []T, w Fold, l line, start C, step func(a, x C) C, merge func(a, b C) C) C {
	var acc [ahead]C
	for u := range acc {
		acc[u] = start
	}
	g, j := l.group, 0
	for ; j+ahead*g <= w.N; j += ahead * g {
		var v [ahead]C
		for u := range ahead {
			v[u] = dsl.Convert[C](x[l.x+w.at(j+u*g+l.lane)])
		}
		for u := range ahead {
			acc[u] = step(acc[u], v[u])
		}
	}
	for i := j + l.lane; i < w.N; i += g {
		acc[0] = step(acc[0], dsl.Convert[C](x[l.x+w.at(i)]))
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
	return s[base+min(l.lane, w.N-1):]
}

// has reports whether element u that a thread keeps is one of the row.
func (l line) has(w Fold, u int) bool { return bool(w.Full) || u*l.group+l.lane < w.N }

// Softmax stores exp(x) of a row over the sum of it, and the logarithm of that if log.
// It is NaN where the row has NaN or +Inf, or nothing but -Inf. bottom is -Inf.
//
//kiln:kernel
func Softmax[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, w Fold, bottom C, log dsl.ConstBool) {
	eachLine(t, w, func(l line, store bool) {
		if w.Keep == 0 {
			m := sweep(x, w, l, dsl.Convert[C](x[l.x]), upper[C], upper[C])
			m = shared(t, w, m, upper[C])
			s := sweep(x, w, l, 0, func(a, x C) C { return a + dsl.Exp(x-m) }, sum[C])
			s = shared(t, w, s, sum[C])
			if store {
				each(out, x, w, l, func(x C, _ int) C { return softmaxOf(x, m, s, log) })
			}
			return
		}
		v := dsl.LocalSlice[C](w.Keep)
		xs := from(x, w, l, l.x)
		for u := range int(w.Keep) {
			v[u] = bottom
			if l.has(w, u) {
				v[u] = dsl.Convert[C](xs[u*l.group])
			}
		}
		m := v[0]
		for u := range int(w.Keep) {
			m = max(m, v[u])
		}
		m = shared(t, w, m, upper[C])
		s := C(0)
		for u := range int(w.Keep) {
			if log {
				s += dsl.Exp(v[u] - m)
			} else {
				v[u] = dsl.Exp(v[u] - m)
				s += v[u]
			}
		}
		s = shared(t, w, s, sum[C])
		f := 1 / s
		if log {
			f = dsl.Log(s)
		}
		if !store {
			return
		}
		ys := from(out, w, l, l.out)
		for u := range int(w.Keep) {
			y := v[u] * f
			if log {
				y = v[u] - m - f
			}
			if l.has(w, u) {
				ys[u*l.group] = dsl.Convert[T](y)
			}
		}
	})
}

func softmaxOf[C dsl.Real](x, m, s C, log dsl.ConstBool) C {
	if log {
		return x - m - dsl.Log(s)
	}
	return dsl.Exp(x-m) * (1 / s)
}

// SoftmaxOf is what is left of [Softmax] when the maximum of each row and the sum of
// exp(x-max) are known.
//
//kiln:kernel
func SoftmaxOf[T dsl.Number, C Computed](t dsl.Thread, out, x []T, m, s []C, w Walk, f func(x, m, s C) C) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = dsl.Convert[T](f(dsl.Convert[C](x[at[1]]), m[at[2]], s[at[2]]))
	})
}

// Share is exp(x-m)/s.
func Share[C dsl.Real](x, m, s C) C { return softmaxOf(x, m, s, false) }

// LogShare is the logarithm of [Share].
func LogShare[C dsl.Real](x, m, s C) C { return softmaxOf(x, m, s, true) }

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
				m = shared(t, w, sweep(x, w, l, 0, sum[C], sum[C]), sum[C]) / n
			}
			s := sweep(x, w, l, 0, func(a, x C) C { return a + (x-m)*(x-m) }, sum[C])
			f := 1 / dsl.Sqrt(shared(t, w, s, sum[C])/n+eps)
			if store {
				each(out, x, w, l, func(x C, i int) C {
					return weighted((x-m)*f, scale, shift, i, scaled, shifted)
				})
			}
			return
		}
		v := dsl.LocalSlice[C](w.Keep)
		xs := from(x, w, l, l.x)
		for u := range int(w.Keep) {
			if l.has(w, u) {
				v[u] = dsl.Convert[C](xs[u*l.group])
			}
		}
		if center {
			m := C(0)
			for u := range int(w.Keep) {
				m += v[u]
			}
			m = shared(t, w, m, sum[C]) / n
			for u := range int(w.Keep) {
				v[u] -= m
				if !l.has(w, u) {
					v[u] = 0
				}
			}
		}
		s := C(0)
		for u := range int(w.Keep) {
			s += v[u] * v[u]
		}
		f := 1 / dsl.Sqrt(shared(t, w, s, sum[C])/n+eps)
		if !store {
			return
		}
		ys, a, b := from(out, w, l, l.out), scale, shift
		if scaled {
			a = from(scale, w, l, 0)
		}
		if shifted {
			b = from(shift, w, l, 0)
		}
		for u := range int(w.Keep) {
			if l.has(w, u) {
				ys[u*l.group] = dsl.Convert[T](weighted(v[u]*f, a, b, u*l.group, scaled, shifted))
			}
		}
	})
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

// NormOf is what is left of [Norm] when the mean of each row and the sum of the squares
// of the distances from it are known.
//
//kiln:kernel
func NormOf[T dsl.Float, C dsl.Real](t dsl.Thread, out, x, scale, shift []T, mean, sqr []C, w Walk, eps, n C, center, scaled, shifted dsl.ConstBool) {
	w.Each(t, func(at [Operands]int) {
		v, f := dsl.Convert[C](x[at[1]]), 1/dsl.Sqrt(sqr[at[2]]/n+eps)
		if center {
			v -= mean[at[2]]
		}
		out[at[0]] = dsl.Convert[T](weighted(v*f, scale, shift, at[3], scaled, shifted))
	})
}
