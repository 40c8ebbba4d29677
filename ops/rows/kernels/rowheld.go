package kernels

import "github.com/gokiln/kiln/dsl"

// Rows that a persistent block stages in shared memory, one after the other: the next one is
// prefetched to registers while the threads store the results of this one. Each thread reads
// only what it has staged itself, so that only the reduction of a row needs barriers.

// lineOf is row r as the whole block has it.
func lineOf(t dsl.Thread, w Fold, r int) line {
	x, out := w.Row(r, 0)
	return line{t.ThreadX(), int(w.Block), r, x, out, 0, w.N}
}

// lay keeps the elements of a row that a thread has where [eachVec] finds them.
func lay(raw []float32, w Fold, l line, v []float32) {
	vec := int(w.Vec)
	for u := 0; u < int(w.Keep); u += vec {
		if at := l.lane + u/vec*l.group; vec > 1 {
			storeVec(raw, w, at, v, u)
		} else {
			raw[at] = v[u]
		}
	}
}

// eachVec calls f with the first n vectors of a row that is kept, of which a thread has those that
// [lay] and [fetchVec] put there, with the index of the first element. It takes few registers.
func eachVec[T dsl.Float](raw []T, w Fold, l line, n int, f func(v *[MostAhead]float32, first int)) {
	vec := int(w.Vec)
	for i := l.lane; i < n; i += l.group {
		var v [MostAhead]float32
		if vec > 1 {
			loadVec(raw, w, i, &v, 0)
		} else {
			v[0] = dsl.Convert[float32](raw[i])
		}
		f(&v, i*vec)
	}
}

// SoftmaxHeld is [Softmax] of rows that blocks of w.Block threads have for themselves, of
// which so many are resident on a multiprocessor.
//
//kiln:kernel
func SoftmaxHeld(t dsl.Thread, out, x []float32, w Fold, room dsl.ConstInt, bottom float32, log bool) {
	dsl.LaunchBounds(t, w.Block, room)
	raw := dsl.SharedSlice[float32](t, w.Block*w.Keep)
	v := dsl.LocalSlice[float32](w.Keep)
	l := lineOf(t, w, t.BlockX())
	take(x, w, l, l.x, bottom, v)
	for r := t.BlockX(); r < w.Rows; r += t.GridDimX() {
		l := lineOf(t, w, r)
		m := largest(w, v)
		low := above(m)
		s := expSum(w, v, low, log, false)
		lay(raw, w, l, v)
		if r+t.GridDimX() < w.Rows {
			next := lineOf(t, w, r+t.GridDimX())
			take(x, w, next, next.x, bottom, v)
		}
		top := shared(t, w, m, upper[float32])
		part := dsl.Exp(min(low-above(top), 0))
		all := shared(t, w, s*part, sum[float32])
		f := part * (1 + (top - top)) / all // NaN where the maximum is infinite
		if log {
			f = dsl.Log(all)
		}
		eachVec(raw, w, l, l.n/int(w.Vec), func(v *[MostAhead]float32, first int) {
			for k := range int(w.Vec) {
				if log {
					v[k] = v[k] - top - f
				} else {
					v[k] *= f
				}
			}
			hand(out, w, l, first, v)
		})
	}
}

// NormHeld is [Norm] as [SoftmaxHeld] goes through rows. Two weights for each element are as
// much to wait for as a row: the next one comes after them then.
//
//kiln:kernel
func NormHeld(t dsl.Thread, out, x, scale, shift []float32, w Fold, room dsl.ConstInt, eps float32, center, scaled, shifted dsl.ConstBool) {
	dsl.LaunchBounds(t, w.Block, room)
	raw := dsl.SharedSlice[float32](t, w.Block*w.Keep)
	v := dsl.LocalSlice[float32](w.Keep)
	late := scaled && shifted
	if !late {
		l := lineOf(t, w, t.BlockX())
		take(x, w, l, l.x, 0, v)
	}
	for r := t.BlockX(); r < w.Rows; r += t.GridDimX() {
		l := lineOf(t, w, r)
		if late {
			take(x, w, l, l.x, 0, v)
		}
		mean, s, n := ofKept(w, l, v, center)
		lay(raw, w, l, v)
		if bool(!late) && r+t.GridDimX() < w.Rows {
			next := lineOf(t, w, r+t.GridDimX())
			take(x, w, next, next.x, 0, v)
		}
		if center {
			mean, s = joined(t, w, mean, s, n, float32(w.N))
		}
		s = shared(t, w, s, sum[float32])
		f := 1 / dsl.Sqrt(s/float32(w.N)+eps)
		eachVec(raw, w, l, l.n/int(w.Vec), func(v *[MostAhead]float32, first int) {
			weighVec(v, scale, shift, w, first, mean, f, center, scaled, shifted)
			hand(out, w, l, first, v)
		})
	}
}

// ofKept returns the accumulator of the n elements of a row that a thread keeps: with center
// their mean and the sum of the squares of the distances from it, else that of the squares.
func ofKept(w Fold, l line, v []float32, center dsl.ConstBool) (mean, s, n float32) {
	if !center {
		return 0, squares(w, v), 0
	}
	for u := range int(w.Keep) {
		if l.has(w, u) {
			n++
		}
	}
	mean = total(w, v) / max(n, 1)
	for u := range int(w.Keep) {
		if d := v[u] - mean; l.has(w, u) {
			s += d * d
		}
	}
	return mean, s, n
}

// joined returns the mean of all elements, given that of the n which a thread has, and what
// the thread's share in the sum of the squares of the distances from it is.
func joined(t dsl.Thread, w Fold, own, s, n, all float32) (mean, share float32) {
	mean = shared(t, w, own*n, sum[float32]) / all
	return mean, s + (own-mean)*(own-mean)*n
}

// weighVec subtracts the mean from w.Vec neighbours of a row from one on, with center, and
// multiplies them by f and their scale, and adds their shift, if there are.
func weighVec[T dsl.Float](v *[MostAhead]float32, scale, shift []T, w Fold, first int, mean, f float32, center, scaled, shifted dsl.ConstBool) {
	var a, b [MostAhead]float32
	if scaled {
		beside(scale, w, first, &a)
	}
	if shifted {
		beside(shift, w, first, &b)
	}
	for k := range int(w.Vec) {
		v[k] = normed(v[k], a[k], b[k], mean, f, center, scaled, shifted)
	}
}

// normed is what [Norm] makes of x, given its weights, the mean of the row and 1 over the root.
func normed[T dsl.Float](x float32, scale, shift T, mean, f float32, center, scaled, shifted dsl.ConstBool) float32 {
	if center {
		x -= mean
	}
	x *= f
	if scaled {
		x *= dsl.Convert[float32](scale)
	}
	if shifted {
		x += dsl.Convert[float32](shift)
	}
	return x
}
