package format

// BlockQ5_1 is [Q5_1]: 32 elements of 5 bits with a scale and a minimum.
//
//	0  d, m  halves
//	4  qh    4 bytes, and
//	8  qs    16 bytes, as those of [BlockQ5_0]
//
// An element is d·q + m.
type BlockQ5_1 struct{ noTable }

// Elems is 32.
func (BlockQ5_1) Elems() int { return 32 }

// Bytes is how many bytes the fields have.
func (BlockQ5_1) Bytes() int { return 24 }

// Run is as [Block] says.
func (BlockQ5_1) Run(d Data, at, r int) Run {
	lo, hi := nibbles32(&d, at+8, r)
	top := d.U8(at + 4 + r)
	lo |= spreadBits(top) << 4
	hi |= spreadBits(top>>4) << 4
	return Run{[2]uint32{lo, hi}, d.F16(at), d.F16(at + 2)}
}

// Scales is 1.
func (BlockQ5_1) Scales() int { return 1 }

// HasMin is true.
func (BlockQ5_1) HasMin() bool { return true }

// Part is as [Block] says.
func (BlockQ5_1) Part(d Data, at, p int) Part {
	q := addTops(nibbles(d.quad4(at+8)), d.U32(at+4))
	return Part{q, [2]float32{d.F16(at)}, [2]float32{d.F16(at + 2)}}
}

// Quantize takes the smallest element to 0 and the largest to 31.
func (BlockQ5_1) Quantize(out []uint8, x []float32) {
	var q [32]uint8
	d, lo := roundSpan(x, q[:], 31)
	putF16(out, 0, d)
	putF16(out, 2, lo)
	packTops(out, 4, q[:])
}

// QuantizeWeighted searches for the scale and the minimum with the smallest weighted error.
func (BlockQ5_1) QuantizeWeighted(out []uint8, x, importance []float32, square float32) {
	var q [32]uint8
	affineWeighted(out, x, importance, square, q[:], 31)
	packTops(out, 4, q[:])
}
