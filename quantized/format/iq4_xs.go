package format

import "github.com/gokiln/kiln/dsl"

// BlockIQ4_XS is [IQ4_XS]: 256 elements of 4 bits in groups of 32, with scales of 6 bits and the
// values of [BlockIQ4_NL].
//
//	0  d         half
//	2  scales_h  2 bytes: the higher 2 bits of scale j in bits 2j
//	4  scales_l  4 bytes: the lower 4 bits of scale j in nibble j%2 of byte j/2
//	8  qs        128 bytes: each group in 16, as those of [BlockQ4_0]
//
// An element is (d·(scale-32)) times value q of the table.
type BlockIQ4_XS struct{ noTable }

// Elems is 256.
func (BlockIQ4_XS) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockIQ4_XS) Bytes() int { return 136 }

// Run is as [Block] says.
func (BlockIQ4_XS) Run(d Data, at, r int) Run {
	j := r >> 2
	lo, hi := nibbles32(&d, at+8+j*16, r&3)
	scale := d.U8(at+4+j>>1)>>(j&1*4)&15 | d.U16(at+2)>>(j*2)&3<<4
	return scaled(valuesIQ4(lo), valuesIQ4(hi), d.F16(at)*float32(int32(scale)-32))
}

// Scales is 1.
func (BlockIQ4_XS) Scales() int { return 1 }

// HasMin is false.
func (BlockIQ4_XS) HasMin() bool { return false }

// Part is as [Block] says.
func (BlockIQ4_XS) Part(d Data, at, p int) Part {
	scale := d.U8(at+4+p>>1)>>(uint32(p)&1*4)&15 | d.U16(at+2)>>(uint32(p)*2)&3<<4
	return plain(valuesOfIQ4(d.quad4(at+8+p*16)), d.F16(at)*float32(int32(scale)-32))
}

// Span is as [Spanned] says.
func (BlockIQ4_XS) Span(t dsl.Thread, d Data, at int) (s Span) {
	lane, g := t.Lane(), uint32(t.Lane())>>1
	w := d.W[at>>2:][:34]
	for h := range 2 {
		s.Q[2*h], s.Q[2*h+1] = lookupWord(w[2+16*h+lane], wordIQ4_0^tops, wordIQ4_1^tops, wordIQ4_2^tops, wordIQ4_3^tops)
	}
	level := w[1]>>(4*g)&15 | w[0]>>16>>(2*g)&3<<4
	s.D = half(w[0]) * float32(int32(level)-32)
	return s
}

// Slot is as [Spanned] says.
func (BlockIQ4_XS) Slot(w int) int { return slotOfHalves(w) }

// ScaleLane is as [Spanned] says.
func (BlockIQ4_XS) ScaleLane(j, lane int) int { return j>>1*8 + lane>>2*2 }

// Bias is 128.
func (BlockIQ4_XS) Bias() int { return signBias }

// SpanMins is false.
func (BlockIQ4_XS) SpanMins() bool { return false }

// Quantize searches for the scale of each group as [BlockIQ4_NL.Quantize] does.
func (BlockIQ4_XS) Quantize(out []uint8, x []float32) { quantizeIQ4XS(out, x, x[:0]) }

// QuantizeWeighted does so with importance.
func (BlockIQ4_XS) QuantizeWeighted(out []uint8, x, importance []float32, square float32) {
	quantizeIQ4XS(out, x, importance)
}

func quantizeIQ4XS(out []uint8, x, importance []float32) {
	var scales [8]float32
	var q [32]uint8
	square := float32(squares(x) * (2.0 / 256))
	for g := range 8 {
		w := importance
		if len(w) > 0 {
			w = w[32*g : 32*g+32]
		}
		scales[g] = searchIQ4(x[32*g:32*g+32], w, square, 7, q[:])
	}
	d := -extreme(scales[:]) / 32
	putF16(out, 0, d)
	inv := inverse(d)
	var low, high uint32
	for g := range 8 {
		l := nearestIn(inv*scales[g], -32, 31)
		roundIQ4(q[:], x[32*g:32*g+32], inverse(d*float32(l)))
		packNibbles(out, 8+16*g, q[:])
		low |= uint32(l+32) & 15 << (4 * g)
		high |= uint32(l+32) >> 4 << (2 * g)
	}
	put16(out, 2, high)
	put32(out, 4, low)
}
