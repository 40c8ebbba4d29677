package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/block"
)

// Rows that do not fit into the shared memory of a block are divided among several, which publish
// their partial results in status words. A block waits for all others of its row, so that all blocks of a row
// must be resident at the same time. Parts are numbered by tickets, so that no block waits for
// one that cannot begin: the blocks of earlier rows end without it.

// HeadWords is how many words there are before the status words: the first one is the counter of
// tickets.
const HeadWords = 8

// rowStatus has two status words for each part of the rows: the [PackFloat] of what a block found.
func rowStatus(words []uint32) block.Status { return block.Status{Words: words[HeadWords:], Each: 1} }

// partOf is the part of a row that the block's ticket stands for, with the indices of the first status word
// of the row and of the part, of which there are two for each part. Rows that are alone are one part.
func partOf(t dsl.Thread, w Fold, words []uint32, parts int, alone dsl.ConstBool) (l line, row, own int) {
	if alone {
		x, out := w.Row(t.BlockX(), 0)
		return line{t.ThreadX(), int(w.Block), t.BlockX(), x, out, 0, w.N}, 0, 0
	}
	k := block.Ticket(t, &words[0])
	r, i := w.split(w.InDiv[0], parts, k)
	first := i * w.Part
	x, out := w.Row(r, 0)
	l = line{t.ThreadX(), int(w.Block), r, x + first, out + first, first, min(w.Part, w.N-first)}
	return l, 2 * r * parts, 2 * k
}

// HeldAtOnce is how many loads a thread has in flight.
const HeldAtOnce = 16

// hold loads the elements of a part, stages them as they are in raw, and passes them to f,
// HeldAtOnce at a time, of which none are past the end. Threads have what they put there.
func hold[T dsl.Float](x, raw []T, w Fold, l line, none float32, f func(v *[MostAhead]float32)) {
	vec := int(w.Vec)
	for c := 0; c < int(w.Keep); c += HeldAtOnce {
		var v [MostAhead]float32
		for q := 0; q < HeldAtOnce; q += vec {
			for k := range vec {
				v[q+k] = none
			}
			switch {
			case !l.has(w, c+q):
			case vec > 1:
				holdVec(x, raw, w, l.x/vec+l.lane+(c+q)/vec*l.group, l.lane+(c+q)/vec*l.group, &v, q)
			default:
				e := x[l.x+l.lane+(c+q)*l.group]
				raw[l.lane+(c+q)*l.group] = e
				v[q] = dsl.Convert[float32](e)
			}
		}
		f(&v)
	}
}

// holdVec loads vector i of x into v from one on, and keeps it as vector j of raw.
func holdVec[T dsl.Float](x, raw []T, w Fold, i, j int, v *[MostAhead]float32, from int) {
	switch w.Vec {
	case 4:
		p := dsl.LoadVec[[4]T](x, i)
		dsl.StoreVec(raw, j, p)
		for k := range p {
			v[from+k] = dsl.Convert[float32](p[k])
		}
	case 8:
		p := dsl.LoadVec[[8]T](x, i)
		dsl.StoreVec(raw, j, p)
		for k := range p {
			v[from+k] = dsl.Convert[float32](p[k])
		}
	case 16:
		p := dsl.LoadVec[[16]T](x, i)
		dsl.StoreVec(raw, j, p)
		for k := range p {
			v[from+k] = dsl.Convert[float32](p[k])
		}
	}
}

// held passes f what [hold] staged, w.Vec neighbours at a time, with the index of the first of
// them in the part.
func held[T dsl.Float](raw []T, w Fold, l line, f func(v *[MostAhead]float32, first int)) {
	vec := int(w.Vec)
	for u := 0; u < int(w.Keep); u += vec {
		if l.has(w, u) {
			var v [MostAhead]float32
			if vec > 1 {
				loadVec(raw, w, l.lane+u/vec*l.group, &v, 0)
			} else {
				v[0] = dsl.Convert[float32](raw[l.lane+u*l.group])
			}
			f(&v, l.place(w, u))
		}
	}
}

// hand stores w.Vec neighbours of a part from one on.
func hand[T dsl.Float](out []T, w Fold, l line, first int, v *[MostAhead]float32) {
	if w.Vec > 1 {
		storeVec(out, w, (l.out+first)/int(w.Vec), v[:], 0)
	} else {
		out[l.out+first] = dsl.Convert[T](v[0])
	}
}

// SoftmaxSplit is [Softmax] of rows in parts of w.Part elements, for which blocks of w.Block
// threads take tickets. So many of them (room) are resident on a multiprocessor, if that is known.
//
//kiln:kernel
//kiln:const w.Block=64 w.Vec=4 w.Keep=16 w.Full=true,false w.Group=0 w.Whole=false w.Unit=true room=1
func SoftmaxSplit[T dsl.Float](t dsl.Thread, out, x []T, words []uint32, w Fold, room dsl.ConstInt, parts int, bottom float32, alone, log, quick dsl.ConstBool) {
	if room > 0 {
		dsl.LaunchBounds(t, w.Block, room)
	}
	l, row, own := partOf(t, w, words, parts, alone)
	raw := dsl.SharedSlice[T](t, w.Block*w.Keep)
	a := Acc[float32]{V: bottom}
	hold(x, raw, w, l, bottom, func(v *[MostAhead]float32) { a = addExp(a, v, 0, 1, HeldAtOnce, HeldAtOnce, quick) })
	m := shared(t, w, a.V, upper[float32])
	s := shared(t, w, a.W*dsl.Exp(min(above(a.V)-above(m), 0)), sum[float32])
	top, all := m, s
	if !alone {
		status := rowStatus(words)
		if t.ThreadX() == 0 {
			status.Publish(own, PackFloat(m))
			status.Publish(own+1, PackFloat(s))
		}
		m, s = bottom, 0
		if t.ThreadX() < parts {
			m = UnpackFloat(status.Await(row + 2*t.ThreadX()))
			s = UnpackFloat(status.Await(row + 2*t.ThreadX() + 1))
		}
		top = shared(t, w, m, upper[float32])
		all = shared(t, w, s*dsl.Exp(min(above(m)-above(top), 0)), sum[float32])
	}
	low := above(top)
	f := (1 + (top - top)) / all // NaN where the maximum is infinite
	if log {
		f = dsl.Log(all)
	}
	held(raw, w, l, func(v *[MostAhead]float32, first int) {
		for k := range int(w.Vec) {
			if log {
				v[k] = v[k] - top - f
			} else {
				v[k] = expOf(v[k]-low, quick) * f
			}
		}
		hand(out, w, l, first, v)
	})
}

// NormSplit is [Norm] as [SoftmaxSplit] goes through rows.
//
//kiln:kernel
//kiln:const w.Block=64 w.Vec=4 w.Keep=16 w.Full=true,false w.Group=0 w.Whole=false w.Unit=true
func NormSplit[T dsl.Float](t dsl.Thread, out, x, scale, shift []T, words []uint32, w Fold, parts int, eps float32, alone, center, scaled, shifted dsl.ConstBool) {
	l, row, own := partOf(t, w, words, parts, alone)
	raw := dsl.SharedSlice[T](t, w.Block*w.Keep)
	mean, s := float32(0), float32(0)
	hold(x, raw, w, l, 0, func(v *[MostAhead]float32) {
		if center {
			mean += tree(v, 0, 1, HeldAtOnce, HeldAtOnce, 0, itself[float32], plus[float32])
		} else {
			s += tree(v, 0, 1, HeldAtOnce, HeldAtOnce, 0, func(x float32) float32 { return x * x }, plus[float32])
		}
	})
	if center {
		mean = shared(t, w, mean, sum[float32]) / float32(l.n)
		held(raw, w, l, func(v *[MostAhead]float32, _ int) {
			s += tree(v, 0, 1, int(w.Vec), int(w.Vec), 0, func(x float32) float32 { return (x - mean) * (x - mean) }, plus[float32])
		})
	}
	s = shared(t, w, s, sum[float32])
	if !alone {
		mean, s = normOfParts(t, w, words, row, own, parts, mean, s, center)
	}
	f := 1 / dsl.Sqrt(s/float32(w.N)+eps)
	held(raw, w, l, func(v *[MostAhead]float32, first int) {
		weighVec(v, scale, shift, w, l.first+first, mean, f, center, scaled, shifted)
		hand(out, w, l, first, v)
	})
}

// normOfParts publishes the mean of a part and the sum of the squares, and returns those of the row.
func normOfParts(t dsl.Thread, w Fold, words []uint32, row, own, parts int, mean, s float32, center dsl.ConstBool) (ofRow, squares float32) {
	status := rowStatus(words)
	if t.ThreadX() == 0 {
		if center {
			status.Publish(own, PackFloat(mean))
		}
		status.Publish(own+1, PackFloat(s))
	}
	n, m := float32(0), float32(0)
	s = 0
	if t.ThreadX() < parts {
		n = float32(min(w.Part, w.N-t.ThreadX()*w.Part))
		if center {
			m = UnpackFloat(status.Await(row + 2*t.ThreadX()))
		}
		s = UnpackFloat(status.Await(row + 2*t.ThreadX() + 1))
	}
	if center {
		mean = shared(t, w, m*n, sum[float32]) / float32(w.N)
		s += (m - mean) * (m - mean) * n
	}
	return mean, shared(t, w, s, sum[float32])
}

// beside loads the w.Vec weights of a row from one on.
func beside[T dsl.Float](s []T, w Fold, first int, v *[MostAhead]float32) {
	if w.Vec > 1 {
		loadVec(s, w, first/int(w.Vec), v, 0)
	} else {
		v[0] = dsl.Convert[float32](s[first])
	}
}
