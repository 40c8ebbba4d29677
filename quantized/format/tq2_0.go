package format

// BlockTQ2_0 is [TQ2_0]: 256 elements of -1, 0 and 1 with a scale, in 2 bits each.
//
//	0   qs  64 bytes, as those of [BlockQ2_K]
//	64  d   half
//
// An element is d·(q-1).
type BlockTQ2_0 struct{ noTable }

// Elems is 256.
func (BlockTQ2_0) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockTQ2_0) Bytes() int { return 66 }

// Run is as [Block] says.
func (BlockTQ2_0) Run(d Data, at, r int) Run {
	i := at + pairsAt(r)
	lo, hi := pairs(d.U32Of16(i), d.U32Of16(i+4), r)
	return scaled(lessBytes(lo, 1), lessBytes(hi, 1), d.F16(at+64))
}

// Scales is 1.
func (BlockTQ2_0) Scales() int { return 1 }

// HasMin is true.
func (BlockTQ2_0) HasMin() bool { return true }

// Part is as [Block] says.
func (BlockTQ2_0) Part(d Data, at, p int) Part {
	return less(onePair(d.octet2(at+p>>2*32), uint32(p)&3*2), d.F16(at+64), 1)
}

// Quantize takes the largest magnitude to 1.
func (BlockTQ2_0) Quantize(out []uint8, x []float32) {
	d := abs(extreme(x))
	inv := inverse(d)
	var q [256]uint8
	for j := range 256 {
		q[j] = uint8(ternary(x[j], inv)+1) & 3
	}
	packPairs(out, 0, q[:])
	putF16(out, 64, d)
}

// ternary rounds x·inv, of -1 to 1, half away from zero. It is 0 where inv is infinite, as that of
// the reference is.
func ternary(x, inv float32) int32 {
	v := float32(x * inv)
	if !(abs(v) < 2) {
		return 0
	}
	return awayInt(v)
}
