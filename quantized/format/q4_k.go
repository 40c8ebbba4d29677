package format

// BlockQ4_K is [Q4_K]: 256 elements of 4 bits in groups of 32, with scales and minima of 6 bits.
//
//	0   d, dmin  halves
//	4   scales   12 bytes: see scaleMin
//	16  qs       128 bytes: group 2i in the low, 2i+1 in the high nibbles of 32 bytes
//
// An element is (d·scale)·q - dmin·minimum.
type BlockQ4_K struct{}

// Elems is 256.
func (BlockQ4_K) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockQ4_K) Bytes() int { return 144 }

// Run is as [Block] says.
func (BlockQ4_K) Run(d Data, at, r int) Run {
	lo, hi := nibblesK(&d, at+16, r)
	return affineK(&d, at, r>>2, lo, hi)
}

// nibblesK is run r of 256 nibbles at i, a multiple of 4, in groups of 32 as those of Q4_K.
func nibblesK(d *Data, i, r int) (lo, hi uint32) {
	i += r>>3*32 + r&3*8
	shift := r >> 2 & 1 * 4
	return d.U32(i) >> shift & lowNibbles, d.U32(i+4) >> shift & lowNibbles
}

// affineK is a run of group j of a block at i that begins with d, dmin and the scales.
func affineK(d *Data, i, j int, lo, hi uint32) Run {
	scale, low := scaleMin(d, i+4, j)
	m := d.F16(i+2) * float32(low)
	return Run{[2]uint32{lo, hi}, d.F16(i) * float32(scale), -m}
}

// scaleMin is the scale and the minimum of group j out of the 12 bytes at i. Those of the first
// four groups are the lower 6 bits of bytes j and j+4. Those of the others have their lower 4 bits
// in the nibbles of byte j+4, and the others above those 6 bits of bytes j-4 and j.
func scaleMin(d *Data, i, j int) (scale, low uint32) {
	a, b := d.U8(i+j&3), d.U8(i+4+j&3)
	if j < 4 {
		return a & 63, b & 63
	}
	c := d.U8(i + 8 + j&3)
	return c&15 | a>>6<<4, c>>4 | b>>6<<4
}
