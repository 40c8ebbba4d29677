package format

// BlockQ8_1 is [Q8_1]: 32 signed bytes with a scale and their sum, a format of activations.
//
//	0  d   half
//	2  s   half: d times the sum of qs
//	4  qs  32 signed bytes
//
// An element is d·q.
type BlockQ8_1 struct{ noTable }

// Elems is 32.
func (BlockQ8_1) Elems() int { return 32 }

// Bytes is how many bytes the fields have.
func (BlockQ8_1) Bytes() int { return 36 }

// Run is as [Block] says.
func (BlockQ8_1) Run(d Data, at, r int) Run {
	i := at + 4 + r*8
	return scaled(d.U32(i), d.U32(i+4), d.F16(at))
}

// Scales is 1.
func (BlockQ8_1) Scales() int { return 1 }

// HasMin is false.
func (BlockQ8_1) HasMin() bool { return false }

// Part is as [Block] says.
func (BlockQ8_1) Part(d Data, at, p int) Part {
	return plain(d.octet4(at+4), d.F16(at))
}

// Quantize takes the largest magnitude to 127.
func (BlockQ8_1) Quantize(out []uint8, x []float32) {
	d := abs(extreme(x)) / 127
	inv := inverse(d)
	var sum int32
	for j := range 32 {
		q := awayInt(float32(x[j] * inv))
		out[4+j] = uint8(int8(q))
		sum += q
	}
	putF16(out, 0, d)
	putF16(out, 2, float32(sum)*d)
}
