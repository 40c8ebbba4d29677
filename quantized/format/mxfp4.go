package format

import (
	"math"
	"math/bits"
)

// BlockMXFP4 is [MXFP4]: 32 numbers of 4 bits, E2M1, with a power of two, E8M0, as scale, of the
// Open Compute Project's Microscaling Formats (MX) Specification 1.0.
//
//	0  e   byte
//	1  qs  16 bytes, as those of [BlockQ4_0]
//
// An element is 2^(e-128) times value q of a table, which has twice the values of E2M1. An e of 255
// is the largest power here, and no NaN.
type BlockMXFP4 struct{ noTable }

// Elems is 32.
func (BlockMXFP4) Elems() int { return 32 }

// Bytes is how many bytes the fields have.
func (BlockMXFP4) Bytes() int { return 17 }

// Run is as [Block] says.
func (BlockMXFP4) Run(d Data, at, r int) Run {
	i, shift := at+1+r&1*8, r>>1*4
	lo, hi := d.U32Of8(i)>>shift&lowNibbles, d.U32Of8(i+4)>>shift&lowNibbles
	return scaled(valuesE2M1(lo), valuesE2M1(hi), halfE8M0(d.U8(at)))
}

// Scales is 1.
func (BlockMXFP4) Scales() int { return 1 }

// HasMin is false.
func (BlockMXFP4) HasMin() bool { return false }

// Part is as [Block] says.
func (BlockMXFP4) Part(d Data, at, p int) Part {
	return plain(valuesOfE2M1(d.quad1(at+1)), halfE8M0(d.U8(at)))
}

// halfE8M0 is 2^(e-128), which is a denormal number for the two smallest e.
func halfE8M0(e uint32) float32 {
	if e < 2 {
		return math.Float32frombits(1 << 21 << e)
	}
	return math.Float32frombits((e - 1) << 23)
}

// valuesE2M1 looks up twice the values of four elements.
func valuesE2M1(w uint32) uint32 {
	return lookup(w, wordMXFP4_0, wordMXFP4_1, wordMXFP4_2, wordMXFP4_3)
}

// valuesOfE2M1 looks up twice the values of the nibbles of 16 bytes.
func valuesOfE2M1(w [4]uint32) [8]uint32 {
	return lookupNibbles(w, wordMXFP4_0, wordMXFP4_1, wordMXFP4_2, wordMXFP4_3)
}

// Quantize takes the power of two two below the largest magnitude, and the nearest value of each
// element, the first of two.
func (BlockMXFP4) Quantize(out []uint8, x []float32) {
	var e uint32
	if amax := abs(extreme(x)); amax > 0 {
		e = uint32(floorLog2(amax)-2+127) & 255
	}
	out[0] = uint8(e)
	var q [32]uint8
	d := halfE8M0(e)
	for j := range 32 {
		q[j] = nearestE2M1(x[j], d)
	}
	packNibbles(out, 1, q[:])
}

// valueE2M1 are twice the values of E2M1.
var valueE2M1 = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// nearestE2M1 is the number of the value v for which v·d is nearest to x, the first of several.
func nearestE2M1(x, d float32) (best uint8) {
	least := abs(float32(valueE2M1[0]*d) - x)
	for i := uint8(1); i < 16; i++ {
		if e := abs(float32(valueE2M1[i]*d) - x); e < least {
			best, least = i, e
		}
	}
	return best
}

// floorLog2 is the largest integer that is not above the logarithm to base 2 of x as float32 rounds
// it: numbers just below a power of two have that power's. With e the exponent of the power, float32
// has steps of 2^-24·s below e, where s is the power of two not above |e|, half of it if e is a
// positive power itself; and a number that is n steps of its own below has a logarithm that is
// 1.4427·n·2^-24 below. So it is rounded to e if 1.4427·n is less than s.
func floorLog2(x float32) int32 {
	b := math.Float32bits(x)
	var e int32
	if b < 1<<23 { // denormal: the leading bit counts
		shift := uint32(bits.LeadingZeros32(b)) - 8
		b <<= shift
		e = 1 - int32(shift)
	} else {
		e = int32(b >> 23)
	}
	e -= 127
	below := 1<<23 - b&(1<<23-1)
	up := e + 1
	size := uint32(max(up, -up))
	if size == 0 {
		return e
	}
	step := uint32(1) << (31 - bits.LeadingZeros32(size))
	tenths := step * 10
	if up > 0 && size == step {
		tenths = step * 5
	}
	if float32(below)*14.426950 < float32(tenths) {
		return up
	}
	return e
}
