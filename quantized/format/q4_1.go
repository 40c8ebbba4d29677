package format

// BlockQ4_1 is [Q4_1]: 32 elements of 4 bits with a scale and a minimum.
//
//	0  d, m  halves
//	4  qs    16 bytes, as those of [BlockQ4_0]
//
// An element is d·q + m.
type BlockQ4_1 struct{ noTable }

// Elems is 32.
func (BlockQ4_1) Elems() int { return 32 }

// Bytes is how many bytes the fields have.
func (BlockQ4_1) Bytes() int { return 20 }

// Run is as [Block] says.
func (BlockQ4_1) Run(d Data, at, r int) Run {
	lo, hi := nibbles32(&d, at+4, r)
	return Run{[2]uint32{lo, hi}, d.F16(at), d.F16(at + 2)}
}

// Scales is 1.
func (BlockQ4_1) Scales() int { return 1 }

// HasMin is true.
func (BlockQ4_1) HasMin() bool { return true }

// Part is as [Block] says.
func (BlockQ4_1) Part(d Data, at, p int) Part {
	return Part{nibbles(d.quad4(at + 4)), [2]float32{d.F16(at)}, [2]float32{d.F16(at + 2)}}
}

// Quantize takes the smallest element to 0 and the largest to 15.
func (BlockQ4_1) Quantize(out []uint8, x []float32) {
	var q [32]uint8
	d, lo := roundSpan(x, q[:], 15)
	for j := range 32 {
		q[j] = min(15, q[j])
	}
	putF16(out, 0, d)
	putF16(out, 2, lo)
	packNibbles(out, 4, q[:])
}

// roundSpan takes the smallest of 32 elements to 0 and the largest to n.
func roundSpan(x []float32, q []uint8, n float32) (d, lo float32) {
	lo, hi := span(x)
	d = (hi - lo) / n
	inv := inverse(d)
	for j := range 32 {
		q[j] = uint8(int8(float32((x[j]-lo)*inv) + 0.5))
	}
	return d, lo
}

// QuantizeWeighted searches for the scale and the minimum with the smallest weighted error.
func (BlockQ4_1) QuantizeWeighted(out []uint8, x, importance []float32, square float32) {
	var q [32]uint8
	affineWeighted(out, x, importance, square, q[:], 15)
	packNibbles(out, 4, q[:])
}

// affineWeighted chooses 32 integers of 0 to n, and stores the scale and the minimum.
func affineWeighted(out []uint8, x, importance []float32, square float32, q []uint8, n int32) {
	var w [32]float32
	var aux [32]uint8
	importantWeights(w[:], x, importance, square)
	d, less := searchAffine(n, x, w[:], q, aux[:], search{first: -0.9, each: 0.05, steps: 36})
	putF16(out, 0, d)
	putF16(out, 2, -less)
}
