package format

// BlockQ8_0 is [Q8_0]: 32 signed bytes with a scale.
//
//	0  d   half
//	2  qs  32 signed bytes
//
// An element is d·q.
type BlockQ8_0 struct{}

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

// Quantize takes the largest magnitude to 127.
func (BlockQ8_0) Quantize(out []uint8, x []float32) {
	d := abs(extreme(x)) / 127
	inv := inverse(d)
	for j := range 32 {
		out[2+j] = uint8(int8(awayInt(float32(x[j] * inv))))
	}
	putF16(out, 0, d)
}
