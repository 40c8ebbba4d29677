package format

import "math"

// BlockNVFP4 is [NVFP4]: 64 numbers of 4 bits, E2M1, in groups of 16 with scales of 8 bits, E4M3
// without sign.
//
//	0  d   4 bytes
//	4  qs  32 bytes: each group in 8, elements j and j+8 in the nibbles of byte j
//
// An element is half the scale times value q of the table of [BlockMXFP4]. The top bit of a scale is
// ignored, and 0x7F is 0; but 0xFF is 480, as the reference has it.
type BlockNVFP4 struct{ noTable }

// Elems is 64.
func (BlockNVFP4) Elems() int { return 64 }

// Bytes is how many bytes the fields have.
func (BlockNVFP4) Bytes() int { return 36 }

// Run is as [Block] says.
func (BlockNVFP4) Run(d Data, at, r int) Run {
	i, shift := at+4+r>>1*8, r&1*4
	lo, hi := d.U32(i)>>shift&lowNibbles, d.U32(i+4)>>shift&lowNibbles
	return scaled(valuesE2M1(lo), valuesE2M1(hi), halfE4M3(d.U8(at+r>>1)))
}

// Scales is 2.
func (BlockNVFP4) Scales() int { return 2 }

// HasMin is false.
func (BlockNVFP4) HasMin() bool { return false }

// Part is as [Block] says.
func (BlockNVFP4) Part(d Data, at, p int) Part {
	v := valuesOfE2M1(d.quad4(at + 4 + p*16))
	s := d.U16(at + 2*p)
	return Part{
		Q: [8]uint32{v[0], v[1], v[4], v[5], v[2], v[3], v[6], v[7]},
		D: [2]float32{halfE4M3(s & 255), halfE4M3(s >> 8)},
	}
}

// halfE4M3 is half of a scale. The bits are put where float32 has them; the product corrects the
// exponent, of denormal numbers too.
func halfE4M3(b uint32) float32 {
	if b == 0x7F {
		return 0
	}
	return math.Float32frombits(b&0x7F<<20) * 0x1p119
}

// Quantize takes the largest magnitude of each group to 6, with the scale rounded. As in the
// reference, scales from 248 on are 448, the largest, so that elements beyond ±2688 become ±2688
// without an error, and those above 2³⁶, beside which float32 does not tell values apart, 0. Scales
// below 2⁻¹⁰ are 0, and their groups zeros. A model whose weights need it has a number in float32
// beside the tensor, which its products are multiplied by.
func (BlockNVFP4) Quantize(out []uint8, x []float32) {
	for g := range 4 {
		group := x[16*g : 16*g+16]
		scale := roundE4M3(abs(extreme(group)) / 6)
		out[g] = uint8(scale)
		d := halfE4M3(scale)
		for j := range 8 {
			out[4+8*g+j] = nearestE2M1(group[j], d) | nearestE2M1(group[j+8], d)<<4
		}
	}
}

// roundE4M3 rounds a number that is not negative to E4M3 as the reference does: half up, denormal
// numbers to at most 7, and those from 256 on to the largest number, 448.
func roundE4M3(x float32) uint32 {
	if x < 0x1p-6 {
		return uint32(min(7, int32(float32(x*512)+0.5)))
	}
	const bias = 120 << 3 // the difference of the exponents' biases
	if r := (math.Float32bits(x)>>19+1)>>1 - bias; r < 15<<3 {
		return r
	}
	return 0x7E
}
