package format

// BlockQ5_K is [Q5_K]: 256 elements of 5 bits in groups of 32, with scales and minima of 6 bits.
//
//	0   d, dmin  halves
//	4   scales   12 bytes, as those of [BlockQ4_K]
//	16  qh       32 bytes: bit 4 of element 32·b + l is bit b of byte l
//	48  qs       128 bytes: the lower bits, as those of [BlockQ4_K]
//
// An element is (d·scale)·q - dmin·minimum.
type BlockQ5_K struct{ noTable }

// Elems is 256.
func (BlockQ5_K) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockQ5_K) Bytes() int { return 176 }

// Run is as [Block] says.
func (BlockQ5_K) Run(d Data, at, r int) Run {
	lo, hi := nibblesK(&d, at+48, r)
	h, bit := at+16+r&3*8, r>>2
	lo |= d.U32(h) >> bit & ones << 4
	hi |= d.U32(h+4) >> bit & ones << 4
	return affineK(&d, at, r>>2, lo, hi)
}

// Scales is 1.
func (BlockQ5_K) Scales() int { return 1 }

// HasMin is true.
func (BlockQ5_K) HasMin() bool { return true }

// Part is as [Block] says.
func (BlockQ5_K) Part(d Data, at, p int) Part {
	q := oneNibble(d.octet16(at+48+p>>1*32), uint32(p)&1*4)
	return partK(&d, at, p, addBits(q, d.octet16(at+16), ones, p, 4))
}

// Quantize searches for the scale and the minimum of each group with the smallest weighted error.
func (BlockQ5_K) Quantize(out []uint8, x []float32) {
	var q [256]uint8
	quantizeK(out, x, q[:], 31, search{first: -0.5, each: 0.1, steps: 15})
	packQ5K(out, q[:])
}

// QuantizeWeighted does so with importance, and for the scales and minima of groups too.
func (BlockQ5_K) QuantizeWeighted(out []uint8, x, importance []float32, square float32) {
	var q [256]uint8
	quantizeImportantK(out, x, importance, q[:], 31)
	packQ5K(out, q[:])
}

func packQ5K(out []uint8, q []uint8) {
	for j := range 32 {
		var top uint8
		for b := range 8 {
			top |= q[32*b+j] >> 4 << b
		}
		out[16+j] = top
	}
	packNibblesK(out, 48, q)
}
