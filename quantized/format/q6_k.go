package format

import "github.com/gokiln/kiln/dsl"

// BlockQ6_K is [Q6_K]: 256 elements of 6 bits in groups of 16, with scales of 8 bits.
//
//	0    ql      128 bytes: the lower 4 bits of element 128·h + 64·n + l in nibble n of byte 64·h + l
//	128  qh      64 bytes: the higher 2 bits of element 128·h + 32·s + l in bits 2s of byte 32·h + l
//	192  scales  16 signed bytes
//	208  d       half
//
// An element is (d·scale)·(q-32).
type BlockQ6_K struct{ noTable }

// Elems is 256.
func (BlockQ6_K) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockQ6_K) Bytes() int { return 210 }

// Run is as [Block] says.
func (BlockQ6_K) Run(d Data, at, r int) Run {
	i, shift := at+r>>4*64+r&7*8, r>>3&1*4
	lo, hi := d.U32Of16(i)>>shift&lowNibbles, d.U32Of16(i+4)>>shift&lowNibbles
	h := at + 128 + pairsAt(r)
	lo2, hi2 := pairs(d.U32Of16(h), d.U32Of16(h+4), r)
	scale := d.F16(at+208) * float32(int8(d.U8(at+192+r>>1)))
	return scaled(lessBytes(lo|lo2<<4, 32), lessBytes(hi|hi2<<4, 32), scale)
}

// Scales is 2.
func (BlockQ6_K) Scales() int { return 2 }

// HasMin is true.
func (BlockQ6_K) HasMin() bool { return true }

// Part is as [Block] says.
func (BlockQ6_K) Part(d Data, at, p int) Part {
	q := oneNibble(d.octet2(at+p>>2*64+p&1*32), uint32(p)>>1&1*4)
	q = addBits(q, d.octet2(at+128+p>>2*32), 3*ones, p&3*2, 4)
	scale, s := d.F16(at+208), d.U16(at+192+2*p)
	a, b := scale*float32(int8(s)), scale*float32(int8(s>>8))
	return Part{q, [2]float32{a, b}, [2]float32{-32 * a, -32 * b}}
}

// Span is as [Spanned] says.
func (BlockQ6_K) Span(t dsl.Thread, d Data, at int) (s Span) {
	lane := t.Lane()
	b, w := d.B[at:][:210], d.H[at>>1:][:105]
	high := joined16(w, 64+2*lane)
	for h := range 2 {
		v := joined16(w, 32*h+2*lane)
		x := dsl.Shuffle(t, high, lane&7+8*h) >> (uint32(lane) >> 3 * 2)
		s.Q[2*h] = v&lowNibbles | x<<4&(3*ones<<4)
		s.Q[2*h+1] = v>>4&lowNibbles | x&(3*ones<<4)
	}
	s.D = half(uint32(w[104])) * float32(int8(b[192+lane]))
	return s
}

// Slot is as [Spanned] says.
func (BlockQ6_K) Slot(w int) int { return w }

// ScaleLane is as [Spanned] says.
func (BlockQ6_K) ScaleLane(j, lane int) int { return 4*j + lane>>2 }

// Bias is 32.
func (BlockQ6_K) Bias() int { return 32 }

// SpanMins is false.
func (BlockQ6_K) SpanMins() bool { return false }

// Quantize searches for the scale of each group with the smallest error weighted by squares.
func (BlockQ6_K) Quantize(out []uint8, x []float32) { quantizeQ6K(out, x, x[:0]) }

// QuantizeWeighted does so with importance as weights.
func (BlockQ6_K) QuantizeWeighted(out []uint8, x, importance []float32, square float32) {
	quantizeQ6K(out, x, importance)
}

func quantizeQ6K(out []uint8, x, w []float32) {
	var scales [16]float32
	var q [256]uint8
	for g := range 16 {
		weights := w
		if len(w) > 0 {
			weights = w[16*g : 16*g+16]
		}
		scales[g] = searchSymmetric(32, x[16*g:16*g+16], q[16*g:16*g+16], weights)
	}
	most := extreme(scales[:])
	if abs(most) < tiny {
		clear8(out, 210)
		return
	}
	inv := -128 / most
	d := putF16(out, 208, 1/inv)
	for g := range 16 {
		level := min(127, nearest(inv*scales[g]))
		out[192+g] = uint8(int8(level))
		scale := d * float32(level)
		if scale == 0 {
			continue
		}
		for j := 16 * g; j < 16*g+16; j++ {
			q[j] = uint8(nearestIn(x[j]/scale, -32, 31) + 32)
		}
	}
	for j := range 64 {
		at := j>>5*128 + j&31
		a, b, c, e := q[at], q[at+32], q[at+64], q[at+96]
		i := j>>5*64 + j&31
		out[i], out[i+32] = a&15|c<<4, b&15|e<<4
		out[128+j] = a>>4 | b>>4<<2 | c>>4<<4 | e>>4<<6
	}
}
