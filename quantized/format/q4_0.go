package format

// BlockQ4_0 is [Q4_0]: 32 elements of 4 bits with a scale.
//
//	0  d   half
//	2  qs  16 bytes: element j in the low, j+16 in the high nibble of byte j
//
// An element is d·(q-8).
type BlockQ4_0 struct{}

// Elems is 32.
func (BlockQ4_0) Elems() int { return 32 }

// Bytes is how many bytes the fields have.
func (BlockQ4_0) Bytes() int { return 18 }

// Run is as [Block] says.
func (BlockQ4_0) Run(d Data, at, r int) Run {
	lo, hi := nibbles16(&d, at+2, r)
	return scaled(lessBytes(lo, 8), lessBytes(hi, 8), d.F16(at))
}

// nibbles16 returns run r of 32 nibbles in 16 bytes at an even i: first those that are low.
func nibbles16(d *Data, i, r int) (lo, hi uint32) {
	i += r & 1 * 8
	shift := r >> 1 * 4
	return d.U32Of16(i) >> shift & lowNibbles, d.U32Of16(i+4) >> shift & lowNibbles
}

// nibbles32 is nibbles16 where i is a multiple of 4.
func nibbles32(d *Data, i, r int) (lo, hi uint32) {
	i += r & 1 * 8
	shift := r >> 1 * 4
	return d.U32(i) >> shift & lowNibbles, d.U32(i+4) >> shift & lowNibbles
}
