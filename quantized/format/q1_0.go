package format

// BlockQ1_0 is [Q1_0]: 128 elements of 1 bit with a scale.
//
//	0  d   half
//	2  qs  16 bytes: element j in bit j%8 of byte j/8
//
// An element is d where its bit is set, and -d where not.
type BlockQ1_0 struct{ noTable }

// Elems is 128.
func (BlockQ1_0) Elems() int { return 128 }

// Bytes is how many bytes the fields have.
func (BlockQ1_0) Bytes() int { return 18 }

// Run is as [Block] says.
func (BlockQ1_0) Run(d Data, at, r int) Run {
	q := d.U8(at + 2 + r)
	lo, hi := spreadBits(q)<<1, spreadBits(q>>4)<<1
	return scaled(lessBytes(lo, 1), lessBytes(hi, 1), d.F16(at))
}

// Scales is 1.
func (BlockQ1_0) Scales() int { return 1 }

// HasMin is true.
func (BlockQ1_0) HasMin() bool { return true }

// Part is as [Block] says.
func (BlockQ1_0) Part(d Data, at, p int) Part {
	w := d.U32Of16(at + 2 + 4*p)
	var q [8]uint32
	for j := range 8 {
		q[j] = spreadBits(w>>(4*j)) << 1
	}
	return less(q, d.F16(at), 1)
}

// Quantize takes the mean of the magnitudes as scale.
func (BlockQ1_0) Quantize(out []uint8, x []float32) {
	var sum float32
	for j := range 128 {
		sum += abs(x[j])
	}
	putF16(out, 0, sum/128)
	for i := range 16 {
		var bits uint8
		for j := range 8 {
			if x[8*i+j] >= 0 {
				bits |= 1 << j
			}
		}
		out[2+i] = bits
	}
}
