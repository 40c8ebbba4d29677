package interp

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

const (
	// MaxBlock is the largest number of threads in a block.
	MaxBlock = 1024
	// WarpSize is the number of threads in a warp where none is chosen, and the most
	// that can be.
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

func (s *laneSet) empty() bool { return s.lo >= s.hi }

func (s *laneSet) setRange(lo, hi int32) {
	s.lo, s.hi, s.sparse = lo, hi, false
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

func (s *laneSet) has(lane int) bool {
	return int(s.lo) <= lane && lane < int(s.hi) && (!s.sparse || s.bits[lane/64]>>(lane%64)&1 != 0)
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

// splitBy divides s by the bools at cond, of which there are whole words of 64.
func (s *laneSet) splitBy(cond unsafe.Pointer, yes, no *laneSet) {
	var anyYes, anyNo uint64
	first, last := int(s.lo)/64, int(s.hi-1)/64
	*yes, *no = laneSet{}, laneSet{}
	for w := first; w <= last; w++ {
		in := s.bits[w]
		if !s.sparse {
			in = wordRange(w, s.lo, s.hi)
		}
		m := packBools((*[8]uint64)(unsafe.Add(cond, w*64)))
		yes.bits[w], no.bits[w] = in&m, in&^m
		anyYes |= in & m
		anyNo |= in &^ m
	}
	switch {
	case anyNo == 0:
		*yes, *no = *s, laneSet{}
	case anyYes == 0:
		*yes, *no = laneSet{}, *s
	default:
		yes.normalize()
		no.normalize()
	}
}

// packBools gathers the low bits of 64 bytes. The product moves the bits of 8 bytes
// to the top byte; a big-endian host would need them in the other order.
func packBools(b *[8]uint64) uint64 {
	var m uint64
	for i, x := range b {
		if bigEndian {
			x = bits.ReverseBytes64(x)
		}
		m |= (x & 0x0101010101010101) * 0x0102040810204080 >> 56 << (8 * i)
	}
	return m
}

var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// list appends the lanes of a sparse set to idx.
func (s *laneSet) list(idx []int32) []int32 {
	for w := int(s.lo) / 64; w <= int(s.hi-1)/64; w++ {
		for b := s.bits[w]; b != 0; b &= b - 1 {
			idx = append(idx, int32(w*64+bits.TrailingZeros64(b)))
		}
	}
	return idx
}

// span is a contiguous run of lanes.
type span struct{ lo, n int }

// group is the number of lanes that are computed together if one of them is active.
// Vector kernels, which may exceed a span by less, then stay inside it.
const group = 16

// cover appends spans of whole groups that hold all lanes of a sparse set.
func (s *laneSet) cover(spans []span) []span {
	for w := int(s.lo) / 64; w <= int(s.hi-1)/64; w++ {
		for g := 0; g < 64; g += group {
			if s.bits[w]>>g&(1<<group-1) == 0 {
				continue
			}
			lo := w*64 + g
			if k := len(spans) - 1; k >= 0 && spans[k].lo+spans[k].n == lo {
				spans[k].n += group
			} else {
				spans = append(spans, span{lo, group})
			}
		}
	}
	return spans
}
