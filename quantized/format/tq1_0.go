package format

import "github.com/gokiln/kiln/dsl"

// BlockTQ1_0 is [TQ1_0]: 256 elements of -1, 0 and 1 with a scale, five in a byte.
//
//	0   qs  48 bytes: digits n = 0 to 4 of the first 32 are elements 32·n + l, those of the other
//	        16 are elements 160 + 16·n + l
//	48  qh  4 bytes: digits n = 0 to 3 are elements 240 + 4·n + l
//	52  d   half
//
// A byte is a fraction with 5 digits to base 3, the first one highest: digit n is the integer part
// of three times the fraction that is left of byte·3ⁿ/256. An element is d·(digit-1).
type BlockTQ1_0 struct{ noTable }

// Elems is 256.
func (BlockTQ1_0) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockTQ1_0) Bytes() int { return 54 }

// Run is as [Block] says.
func (BlockTQ1_0) Run(d Data, at, r int) Run {
	i, j, n, m := at+r&3*8, 0, r>>2, 0
	j, m = i+4, n
	if r >= 20 {
		i, n = at+32+r&1*8, (r-20)>>1
		j, m = i+4, n
	}
	if r >= 30 {
		i, n = at+48, (r-30)*2
		j, m = i, n+1
	}
	lo, hi := digits(d.U32Of16(i), n), digits(d.U32Of16(j), m)
	return scaled(lessBytes(lo, 1), lessBytes(hi, 1), d.F16(at+52))
}

// Scales is 1.
func (BlockTQ1_0) Scales() int { return 1 }

// HasMin is true.
func (BlockTQ1_0) HasMin() bool { return true }

// Part is as [Block] says.
func (f BlockTQ1_0) Part(d Data, at, p int) Part {
	if d.Words {
		return partTQ1(&d, at, p)
	}
	return joined(f.Run(d, at, 4*p), f.Run(d, at, 4*p+1), f.Run(d, at, 4*p+2), f.Run(d, at, 4*p+3))
}

// partTQ1 is Part without branches: each half is a digit of 16 bytes, but the last one, which is four
// digits of 4.
func partTQ1(d *Data, at, p int) Part {
	i, j, n, m := at, at+16, p, p
	if p >= 5 {
		i, j, n, m = at+32, at+32, p*2-10, p*2-9
	}
	lo, hi := d.quad2(i), d.quad2(j)
	power, each := powers3(n), uint32(1)
	other := powers3(m)
	if p == 7 {
		w := d.word(at + 48)
		hi, other, each = [4]uint32{w, w, w, w}, 1, 3
	}
	var q [8]uint32
	for k := range 4 {
		q[k], q[4+k] = digitsTimes(lo[k], power), digitsTimes(hi[k], other)
		other *= each
	}
	return less(q, d.F16(at+52), 1)
}

// powers3 is 3ⁿ for n up to 5.
func powers3(n int) uint32 {
	// Of three and less as bytes, by the lower bits, and times 81 by the highest one.
	v := uint32(0x1B090301) >> (uint32(n) & 3 * 8) & 255
	if n >= 4 {
		v *= 81
	}
	return v
}

// digitsTimes returns the digits of four bytes that are the first ones times a power.
func digitsTimes(w, power uint32) uint32 {
	const even = 0x00FF00FF // 16 bits for each byte
	a, b := (w&even)*power&even*3, (w>>8&even)*power&even*3
	return dsl.Permute(a, b, 0x7351)
}

// digits returns digit n of four bytes.
func digits(w uint32, n int) uint32 {
	const even = 0x00FF00FF // 16 bits for each byte
	power := powers[n]
	a, b := (w&even)*power&even, (w>>8&even)*power&even
	return a*3>>8&0x00030003 | b*3&0x03000300
}

var powers = [5]uint32{1, 3, 9, 27, 81}

// Quantize takes the largest magnitude to 1.
func (BlockTQ1_0) Quantize(out []uint8, x []float32) {
	d := abs(extreme(x))
	inv := inverse(d)
	for i := range 52 {
		first, step, n := i, 32, 5
		if i >= 32 {
			first, step = 160+i-32, 16
		}
		if i >= 48 {
			first, step, n = 240+i-48, 4, 4
		}
		var digits uint32
		for j := range n {
			digits = 3*digits + uint32(ternary(x[first+j*step], inv)+1)
		}
		if n == 4 {
			digits *= 3
		}
		out[i] = uint8((digits*256 + 242) / 243)
	}
	putF16(out, 52, d)
}
