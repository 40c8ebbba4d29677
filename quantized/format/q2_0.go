package format

// BlockQ2_0 is [Q2_0]: 64 elements of 2 bits with a scale.
//
//	0  d   half
//	2  qs  16 bytes: element j in bits 2·(j%4) of byte j/4
//
// An element is d·(q-1).
type BlockQ2_0 struct{ noTable }

// Elems is 64.
func (BlockQ2_0) Elems() int { return 64 }

// Bytes is how many bytes the fields have.
func (BlockQ2_0) Bytes() int { return 18 }

// Run is as [Block] says.
func (BlockQ2_0) Run(d Data, at, r int) Run {
	q := d.U16(at + 2 + r*2)
	return scaled(lessBytes(spreadPairs(q), 1), lessBytes(spreadPairs(q>>8), 1), d.F16(at))
}

// Scales is 1.
func (BlockQ2_0) Scales() int { return 1 }

// HasMin is true.
func (BlockQ2_0) HasMin() bool { return true }

// Part is as [Block] says.
func (BlockQ2_0) Part(d Data, at, p int) Part {
	var q [8]uint32
	for j := range 2 {
		w := d.U32Of16(at + 2 + 8*p + 4*j)
		for i := range 4 {
			q[4*j+i] = spreadPairs(w >> (8 * i))
		}
	}
	return less(q, d.F16(at), 1)
}

// Quantize takes the largest magnitude to 1.
func (BlockQ2_0) Quantize(out []uint8, x []float32) {
	d := abs(extreme(x))
	inv := inverse(d)
	putF16(out, 0, d)
	for i := range 16 {
		var bits uint8
		for j := range 4 {
			bits |= uint8(max(0, min(3, awayInt(float32(x[4*i+j]*inv))+1))) << (2 * j)
		}
		out[2+i] = bits
	}
}
