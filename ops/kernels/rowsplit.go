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
// of the part are, of which there are two for each part.
func partOf(t dsl.Thread, w Fold, words []uint32, parts int) (l line, row, own int) {
	k := nextTurn(t, words)
	r := k / parts
	first := (k - r*parts) * w.Part
	x, out := w.row(r, 0)
	l = line{t.ThreadX(), int(w.Block), r, x + first, out + first, first, min(w.Part, w.N-first)}
	return l, HeadWords + 2*r*parts, HeadWords + 2*k
}

// SoftmaxSplit is [Softmax] of rows in parts of w.Part elements, for which blocks of w.Block
// threads take turns.
//
//kiln:kernel
func SoftmaxSplit[T dsl.Float](t dsl.Thread, out, x []T, words []uint32, w Fold, parts int, bottom float32, log, quick dsl.ConstBool) {
	l, row, own := partOf(t, w, words, parts)
	v := dsl.LocalSlice[float32](w.Keep)
	take(x, w, l, l.x, bottom, v)
	m := shared(t, w, largest(w, v), upper[float32])
	low := above(m)
	s := shared(t, w, expSum(w, v, low, log, quick), sum[float32])
	if t.ThreadX() == 0 {
		tell(words, own, m)
		tell(words, own+1, s)
	}
	m, s = bottom, 0
	if t.ThreadX() < parts {
		m = hear(words, row+2*t.ThreadX())
		s = hear(words, row+2*t.ThreadX()+1)
	}
	top := shared(t, w, m, upper[float32])
	lowest := above(top)
	all := shared(t, w, s*dsl.Exp(min(above(m)-lowest, 0)), sum[float32])
	shareOut(w, v, top, all, dsl.Exp(min(low-lowest, 0)), log)
	give(out, w, l, l.out, v)
}

// NormSplit is [Norm] as [SoftmaxSplit] goes through rows.
//
//kiln:kernel
func NormSplit[T dsl.Float](t dsl.Thread, out, x, scale, shift []T, words []uint32, w Fold, parts int, eps float32, center, scaled, shifted dsl.ConstBool) {
	l, row, own := partOf(t, w, words, parts)
	v := dsl.LocalSlice[float32](w.Keep)
	take(x, w, l, l.x, 0, v)
	mean := float32(0)
	if center {
		mean = shared(t, w, total(w, v), sum[float32]) / float32(l.n)
		distances(w, l, v, mean)
	}
	s := shared(t, w, squares(w, v), sum[float32])
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
		all := shared(t, w, m*n, sum[float32]) / float32(w.N)
		s += (m - all) * (m - all) * n
		for u := range int(w.Keep) {
			v[u] += mean - all
		}
	}
	f := 1 / dsl.Sqrt(shared(t, w, s, sum[float32])/float32(w.N)+eps)
	weigh(w, l, v, f, scale, shift, scaled, shifted)
	give(out, w, l, l.out, v)
}
