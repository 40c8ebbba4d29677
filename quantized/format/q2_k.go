package format

// BlockQ2_K is [Q2_K]: 256 elements of 2 bits in groups of 16, with scales and minima of 4 bits.
//
//	0   scales   16 bytes: the scale of a group in the low, its minimum in the high nibble
//	16  qs       64 bytes: element 128·h + 32·s + l in bits 2s of byte 32·h + l
//	80  d, dmin  halves
//
// An element is (d·scale)·q - dmin·minimum.
type BlockQ2_K struct{}

// Elems is 256.
func (BlockQ2_K) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockQ2_K) Bytes() int { return 84 }

// Run is as [Block] says.
func (BlockQ2_K) Run(d Data, at, r int) Run {
	lo, hi := pairs(d.U32(at+16+pairsAt(r)), d.U32(at+20+pairsAt(r)), r)
	s := d.U8(at + r>>1)
	m := d.F16(at+82) * float32(s>>4)
	return Run{[2]uint32{lo, hi}, d.F16(at+80) * float32(s&15), -m}
}

// pairsAt is the first of the eight bytes that hold run r of 256 elements of 2 bits.
func pairsAt(r int) int { return r>>4*32 + r&3*8 }

// pairs is run r out of the eight bytes.
func pairs(lo, hi uint32, r int) (uint32, uint32) {
	shift := r >> 2 & 3 * 2
	return lo >> shift & (3 * ones), hi >> shift & (3 * ones)
}
