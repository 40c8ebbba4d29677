package format

import "github.com/gokiln/kiln/dsl"

// BlockQ8_0 is [Q8_0]: 32 signed bytes with a scale.
//
//	0  d   half
//	2  qs  32 signed bytes
//
// An element is d·q.
type BlockQ8_0 struct{ noTable }

// Elems is 32.
func (BlockQ8_0) Elems() int { return 32 }

// Bytes is how many bytes the fields have.
func (BlockQ8_0) Bytes() int { return 34 }

// Run is as [Block] says.
func (BlockQ8_0) Run(d Data, at, r int) Run {
	i := at + 2 + r*8
	return scaled(d.U32Of16(i), d.U32Of16(i+4), d.F16(at))
}

// Scales is 1.
func (BlockQ8_0) Scales() int { return 1 }

// HasMin is false.
func (BlockQ8_0) HasMin() bool { return false }

// Part is as [Block] says.
func (BlockQ8_0) Part(d Data, at, p int) Part {
	return plain(d.octet2(at+2), d.F16(at))
}

// Span is as [Spanned] says. Two blocks are 17 words, of which the scale of the first one is the lower
// half of the first, and that of the second one the upper half of the ninth.
func (BlockQ8_0) Span(t dsl.Thread, d Data, at int) (s Span) {
	lane, h, w := t.Lane(), d.H[at>>1:][:136], d.W[at>>2:][:68]
	for j := range 4 {
		q := joined16(h, 34*j+1+2*lane)
		if v := joined16(h, 34*j+2+2*lane); lane >= 8 {
			q = v
		}
		s.Q[j] = q ^ tops
	}
	// Of blocks 2j and 2j+1 lanes 2j and 2j+8 have the words with the scales.
	words := w[lane]
	for j := 1; j < 4; j++ {
		if v := w[15*j+lane]; lane>>1&3 == j {
			words = v
		}
	}
	s.D = half(dsl.Shuffle(t, words, lane>>2*2+lane>>1&1*8) >> (uint32(lane) >> 1 & 1 * 16))
	return s
}

// Slot is as [Spanned] says.
func (BlockQ8_0) Slot(w int) int { return w }

// ScaleLane is as [Spanned] says.
func (BlockQ8_0) ScaleLane(j, lane int) int { return 4*j + lane>>3*2 }

// Bias is 128.
func (BlockQ8_0) Bias() int { return signBias }

// SpanMins is false.
func (BlockQ8_0) SpanMins() bool { return false }

// Quantize takes the largest magnitude to 127.
func (BlockQ8_0) Quantize(out []uint8, x []float32) {
	d := abs(extreme(x)) / 127
	inv := inverse(d)
	for j := range 32 {
		out[2+j] = uint8(int8(awayInt(float32(x[j] * inv))))
	}
	putF16(out, 0, d)
}
