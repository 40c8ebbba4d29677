package format

// BlockQ5_0 is [Q5_0]: 32 elements of 5 bits with a scale.
//
//	0  d   half
//	2  qh  4 bytes: bit j is bit 4 of element j
//	6  qs  16 bytes: the lower bits, as those of [BlockQ4_0]
//
// An element is d·(q-16).
type BlockQ5_0 struct{ noTable }

// Elems is 32.
func (BlockQ5_0) Elems() int { return 32 }

// Bytes is how many bytes the fields have.
func (BlockQ5_0) Bytes() int { return 22 }

// Run is as [Block] says.
func (BlockQ5_0) Run(d Data, at, r int) Run {
	lo, hi := nibbles16(&d, at+6, r)
	top := d.U8(at + 2 + r)
	lo |= spreadBits(top) << 4
	hi |= spreadBits(top>>4) << 4
	return scaled(lessBytes(lo, 16), lessBytes(hi, 16), d.F16(at))
}

// Scales is 1.
func (BlockQ5_0) Scales() int { return 1 }

// HasMin is true.
func (BlockQ5_0) HasMin() bool { return true }

// Part is as [Block] says.
func (BlockQ5_0) Part(d Data, at, p int) Part {
	return less(addTops(nibbles(d.quad2(at+6)), d.U32Of16(at+2)), d.F16(at), 16)
}

// Quantize takes the element of the largest magnitude to -16.
func (BlockQ5_0) Quantize(out []uint8, x []float32) {
	d := extreme(x) / -16
	inv := inverse(d)
	var q [32]uint8
	for j := range 32 {
		q[j] = uint8(min(31, int8(float32(x[j]*inv)+16.5)))
	}
	putF16(out, 0, d)
	packTops(out, 2, q[:])
}

// QuantizeWeighted searches for the scale with the smallest weighted error.
func (BlockQ5_0) QuantizeWeighted(out []uint8, x, importance []float32, square float32) {
	var w [32]float32
	var q [32]uint8
	importantWeights(w[:], x, importance, square)
	putF16(out, 0, searchSymmetric(16, x, q[:], w[:]))
	packTops(out, 2, q[:])
}
