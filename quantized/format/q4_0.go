package format

import "github.com/gokiln/kiln/dsl"

// BlockQ4_0 is [Q4_0]: 32 elements of 4 bits with a scale.
//
//	0  d   half
//	2  qs  16 bytes: element j in the low, j+16 in the high nibble of byte j
//
// An element is d·(q-8).
type BlockQ4_0 struct{ noTable }

// Elems is 32.
func (BlockQ4_0) Elems() int { return 32 }

// Bytes is how many bytes the fields have.
func (BlockQ4_0) Bytes() int { return 18 }

// Run is as [Block] says.
func (BlockQ4_0) Run(d Data, at, r int) Run {
	lo, hi := nibbles16(&d, at+2, r)
	return scaled(lessBytes(lo, 8), lessBytes(hi, 8), d.F16(at))
}

// Scales is 1.
func (BlockQ4_0) Scales() int { return 1 }

// HasMin is true.
func (BlockQ4_0) HasMin() bool { return true }

// Part is as [Block] says.
func (BlockQ4_0) Part(d Data, at, p int) Part {
	return less(nibbles(d.quad2(at+2)), d.F16(at), 8)
}

// nibbles16 returns run r of 32 nibbles in 16 bytes at an even i: first those that are low.
func nibbles16(d *Data, i, r int) (lo, hi uint32) {
	i += r & 1 * 8
	shift := r >> 1 * 4
	return d.U32Of16(i) >> shift & lowNibbles, d.U32Of16(i+4) >> shift & lowNibbles
}

// nibbles32 is nibbles16 where i is a multiple of 4.
func nibbles32(d *Data, i, r int) (lo, hi uint32) {
	i += r & 1 * 8
	shift := r >> 1 * 4
	return d.U32(i) >> shift & lowNibbles, d.U32(i+4) >> shift & lowNibbles
}

// Span is as [Spanned] says. Four blocks are 18 words, of which the scales are halves of words 0, 4, 9
// and 13. Behind each, words are half of one further on.
func (BlockQ4_0) Span(t dsl.Thread, d Data, at int) (s Span) {
	lane, halves, w := t.Lane(), d.H[at>>1:][:72], d.W[at>>2:][:36]
	var scales [2]uint32
	for h := range 2 {
		i := 36*h + 1 + 2*lane
		q := joined16(halves, i)
		for block := 1; block < 4; block++ {
			if v := joined16(halves, i+block); lane>>2 == block {
				q = v
			}
		}
		s.Q[2*h], s.Q[2*h+1] = q&lowNibbles, q>>4&lowNibbles
		scales[h] = dsl.Shuffle(t, w[18*h+lane], lane>>1&3*9>>1)
	}
	scale := scales[0]
	if lane >= 8 {
		scale = scales[1]
	}
	s.D = half(scale >> (uint32(lane) >> 1 & 1 * 16))
	return s
}

// Slot is as [Spanned] says.
func (BlockQ4_0) Slot(w int) int { return slotOfHalves(w) }

// ScaleLane is as [Spanned] says.
func (BlockQ4_0) ScaleLane(j, lane int) int { return j>>1*8 + lane>>2*2 }

// Bias is 8.
func (BlockQ4_0) Bias() int { return 8 }

// SpanMins is false.
func (BlockQ4_0) SpanMins() bool { return false }

// Quantize takes the element of the largest magnitude to -8.
func (BlockQ4_0) Quantize(out []uint8, x []float32) {
	d := extreme(x) / -8
	inv := inverse(d)
	var q [32]uint8
	for j := range 32 {
		q[j] = uint8(min(15, int8(float32(x[j]*inv)+8.5)))
	}
	putF16(out, 0, d)
	packNibbles(out, 2, q[:])
}

// QuantizeWeighted searches for the scale with the smallest weighted error.
func (BlockQ4_0) QuantizeWeighted(out []uint8, x, importance []float32, square float32) {
	var w [32]float32
	var q [32]uint8
	importantWeights(w[:], x, importance, square)
	putF16(out, 0, searchSymmetric(8, x, q[:], w[:]))
	packNibbles(out, 2, q[:])
}
