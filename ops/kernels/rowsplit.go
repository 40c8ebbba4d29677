package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
)

// Rows that a block has no room for are divided among several, which tell each other what
// they know of their parts. A block waits for others of its row then, so that there must
// be room on the device for all blocks of a row at the same time. They take their turns in
// the order in which they begin, so that no block waits for one that others keep from
// beginning: those of earlier rows end without it.
//
// Blocks tell numbers by words that are zero before, so that neither fences nor flags are
// needed.

// HeadWords is how many words there are before those of the parts: the first one counts
// blocks that have begun.
const HeadWords = 8

// nextTurn is how many blocks have begun before this one.
func nextTurn(t dsl.Thread, words []uint32) int {
	before := dsl.Shared[uint32](t)
	t.Sync() // an earlier turn may still be read
	if t.ThreadX() == 0 {
		*before = dsl.AtomicAdd(&words[0], 1)
	}
	t.Sync()
	return int(*before)
}

// tell stores a number where [hear] waits for it.
func tell(words []uint32, i int, x float32) {
	b := math.Float32bits(x)
	if x != x {
		b = 0x7fc00000
	}
	dsl.AtomicStore(&words[i], ^b)
}

// hear waits for a number.
func hear(words []uint32, i int) float32 {
	for {
		if b := dsl.AtomicLoad(&words[i]); b != 0 {
			return math.Float32frombits(^b)
		}
	}
}

// partOf is the part of a row whose turn it is, and where the words of the row and those
// of the part are, of which there are two for each part. Rows that are alone are one part.
func partOf(t dsl.Thread, w Fold, words []uint32, parts int, alone dsl.ConstBool) (l line, row, own int) {
	if alone {
		x, out := w.row(t.BlockX(), 0)
		return line{t.ThreadX(), int(w.Block), t.BlockX(), x, out, 0, w.N}, 0, 0
	}
	k := nextTurn(t, words)
	r, i := w.split(w.InDiv[0], parts, k)
	first := i * w.Part
	x, out := w.row(r, 0)
	l = line{t.ThreadX(), int(w.Block), r, x + first, out + first, first, min(w.Part, w.N-first)}
	return l, HeadWords + 2*r*parts, HeadWords + 2*k
}

// HeldAtOnce is how many elements a thread loads before it looks at them.
const HeldAtOnce = 16

// hold loads the elements of a part, keeps them as they are in raw, and gives them to f,
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

// held gives f what [hold] kept, w.Vec neighbours at a time, with the index of the first of
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
// threads take turns. A unit has room for so many of them, if that is known.
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
		if t.ThreadX() == 0 {
			tell(words, own, m)
			tell(words, own+1, s)
		}
		m, s = bottom, 0
		if t.ThreadX() < parts {
			m = hear(words, row+2*t.ThreadX())
			s = hear(words, row+2*t.ThreadX()+1)
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

// normOfParts tells the others the mean of a part and the sum of the squares, and returns
// those of the row.
func normOfParts(t dsl.Thread, w Fold, words []uint32, row, own, parts int, mean, s float32, center dsl.ConstBool) (ofRow, squares float32) {
	if t.ThreadX() == 0 {
		if center {
			tell(words, own, mean)
		}
		tell(words, own+1, s)
	}
	n, m := float32(0), float32(0)
	s = 0
	if t.ThreadX() < parts {
		n = float32(min(w.Part, w.N-t.ThreadX()*w.Part))
		if center {
			m = hear(words, row+2*t.ThreadX())
		}
		s = hear(words, row+2*t.ThreadX()+1)
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
