package format

import "math"

// BlockQ8_K is [Q8_K]: 256 signed bytes with a scale in float32 and sums, a format of activations.
//
//	0    d      float32
//	4    qs     256 signed bytes
//	260  bsums  16 of int16: sums of 16 elements each
//
// An element is d·q.
type BlockQ8_K struct{ noTable }

// Elems is 256.
func (BlockQ8_K) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockQ8_K) Bytes() int { return 292 }

// Run is as [Block] says.
func (BlockQ8_K) Run(d Data, at, r int) Run {
	i := at + 4 + r*8
	return scaled(d.U32(i), d.U32(i+4), math.Float32frombits(d.U32(at)))
}

// Scales is 1.
func (BlockQ8_K) Scales() int { return 1 }

// HasMin is false.
func (BlockQ8_K) HasMin() bool { return false }

// Part is as [Block] says.
func (BlockQ8_K) Part(d Data, at, p int) Part {
	return plain(d.octet4(at+4+p*32), math.Float32frombits(d.U32(at)))
}

// Quantize takes the element of the largest magnitude to -127.
func (BlockQ8_K) Quantize(out []uint8, x []float32) {
	most := extreme(x)
	var inv, d float32
	if most != 0 {
		inv = -127 / most
		d = 1 / inv
	}
	put32(out, 0, math.Float32bits(d))
	for g := range 16 {
		var sum int32
		for j := 16 * g; j < 16*g+16; j++ {
			q := min(127, nearest(inv*x[j]))
			out[4+j] = uint8(int8(q))
			sum += q
		}
		put16(out, 260+2*g, uint32(sum)&0xFFFF)
	}
}
