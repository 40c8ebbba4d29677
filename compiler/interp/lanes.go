package interp

import "math/bits"

const (
	// MaxBlock is the largest number of threads in a block.
	MaxBlock = 1024
	// WarpSize is the number of threads in a warp.
	WarpSize = 32

	setWords = MaxBlock / 64
)

// laneSet is a set of lanes. A contiguous set is kept as its bounds alone; bits
// are valid only when sparse is set. lo and hi bound a sparse set.
type laneSet struct {
	lo, hi int32
	sparse bool
	bits   [setWords]uint64
}

func rangeSet(lo, hi int) laneSet { return laneSet{lo: int32(lo), hi: int32(hi)} }

func (s *laneSet) empty() bool { return s.lo >= s.hi }

func (s *laneSet) setRange(lo, hi int32) {
	s.lo, s.hi, s.sparse = lo, hi, false
}

func (s *laneSet) has(l int) bool {
	if l < int(s.lo) || l >= int(s.hi) {
		return false
	}
	return !s.sparse || s.bits[l/64]>>(l%64)&1 != 0
}

func (s *laneSet) count() int {
	if !s.sparse {
		return int(max(s.hi-s.lo, 0))
	}
	n := 0
	for _, w := range s.bits[s.lo/64 : (s.hi+63)/64] {
		n += bits.OnesCount64(w)
	}
	return n
}

// wordRange returns the lanes of word w that lie in [lo, hi), as bits.
func wordRange(w int, lo, hi int32) uint64 {
	from, to := max(int(lo)-w*64, 0), min(int(hi)-w*64, 64)
	if from >= to {
		return 0
	}
	return ^uint64(0) << from & (^uint64(0) >> (64 - to))
}

// expand makes the bits valid.
func (s *laneSet) expand() {
	if s.sparse {
		return
	}
	for w := range s.bits {
		s.bits[w] = wordRange(w, s.lo, s.hi)
	}
	s.sparse = true
}

// normalize tightens the bounds of a sparse set and makes it a range if it is
// contiguous.
func (s *laneSet) normalize() {
	n := 0
	lo, hi := int32(-1), int32(0)
	for w, b := range s.bits {
		if b == 0 {
			continue
		}
		n += bits.OnesCount64(b)
		if lo < 0 {
			lo = int32(w*64 + bits.TrailingZeros64(b))
		}
		hi = int32(w*64 + 64 - bits.LeadingZeros64(b))
	}
	s.lo, s.hi, s.sparse = max(lo, 0), hi, true
	if n == int(s.hi-s.lo) {
		s.sparse = false
	}
}

// add unites s with t.
func (s *laneSet) add(t *laneSet) {
	switch {
	case t.empty():
	case s.empty():
		*s = *t
	case !s.sparse && !t.sparse && s.lo <= t.hi && t.lo <= s.hi:
		s.lo, s.hi = min(s.lo, t.lo), max(s.hi, t.hi)
	default:
		s.expand()
		if t.sparse {
			for w := range s.bits {
				s.bits[w] |= t.bits[w]
			}
		} else {
			for w := range s.bits {
				s.bits[w] |= wordRange(w, t.lo, t.hi)
			}
		}
		s.normalize()
	}
}

// split divides s into the lanes inside [lo, hi) and the others.
func (s *laneSet) split(lo, hi int32, in, out *laneSet) {
	lo, hi = max(lo, s.lo), min(hi, s.hi)
	switch {
	case lo >= hi:
		in.setRange(0, 0)
		*out = *s
	case lo == s.lo && hi == s.hi:
		*in = *s
		out.setRange(0, 0)
	case !s.sparse && lo == s.lo:
		in.setRange(lo, hi)
		out.setRange(hi, s.hi)
	case !s.sparse && hi == s.hi:
		in.setRange(lo, hi)
		out.setRange(s.lo, lo)
	default:
		all := *s
		all.expand()
		for w := range all.bits {
			m := wordRange(w, lo, hi)
			in.bits[w] = all.bits[w] & m
			out.bits[w] = all.bits[w] &^ m
		}
		in.normalize()
		out.normalize()
	}
}

// splitBy divides s by the bools of its lanes.
func (s *laneSet) splitBy(cond []byte, yes, no *laneSet) {
	first, same := int32(-1), true
	for l := s.lo; l < s.hi && same; l++ {
		if s.sparse && s.bits[l/64]>>(l%64)&1 == 0 {
			continue
		}
		if first < 0 {
			first = l
		}
		same = cond[l] == cond[first]
	}
	if same {
		*yes, *no = *s, laneSet{}
		if first < 0 || cond[first] == 0 {
			*yes, *no = *no, *yes
		}
		return
	}
	*no = *s
	no.expand()
	*yes = laneSet{}
	for w := int(s.lo) / 64; w <= int(s.hi-1)/64; w++ {
		from, to := w*64, min(w*64+64, len(cond))
		var m uint64
		for i, c := range cond[from:to] {
			m |= uint64(c&1) << (i & 63)
		}
		yes.bits[w] = no.bits[w] & m
		no.bits[w] &^= m
	}
	yes.normalize()
	no.normalize()
}

// span is a contiguous run of lanes.
type span struct{ lo, n int }

// minGap is the number of idle lanes that it is cheaper to compute than to skip.
const minGap = 16

// list appends the lanes of s to idx, and its runs to runs; runs that are closer
// than minGap are joined.
func (s *laneSet) list(idx []int32, runs []span) ([]int32, []span) {
	for w := int(s.lo) / 64; w <= int(s.hi-1)/64; w++ {
		for b := s.bits[w]; b != 0; b &= b - 1 {
			l := int32(w*64 + bits.TrailingZeros64(b))
			idx = append(idx, l)
			if k := len(runs) - 1; k >= 0 && int(l)-runs[k].lo-runs[k].n < minGap {
				runs[k].n = int(l) + 1 - runs[k].lo
			} else {
				runs = append(runs, span{int(l), 1})
			}
		}
	}
	return idx, runs
}
