package format

// BlockIQ2_XS is [IQ2_XS]: 256 elements in groups of 16, each run of 8 out of a code book of 512,
// with 7 bits for their signs.
//
//	0   d       half
//	2   qs      32 of 2 bytes: an index of 9 bits, and above it the signs
//	66  scales  8 bytes: a scale of 4 bits for each group, low nibble first
//
// An element is (d·(scale+½)/4)·value, with signs as those of [BlockIQ2_XXS].
type BlockIQ2_XS struct{}

// Elems is 256.
func (BlockIQ2_XS) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockIQ2_XS) Bytes() int { return 74 }

// Run is as [Block] says.
func (BlockIQ2_XS) Run(d Data, at, r int) Run {
	q := d.U16(at + 2 + r*2)
	return signed2(uint32(gridIQ2_XS[q&511]), evenSigns(q>>9), scaleIQ2(&d, at, at+66, r))
}

// scaleIQ2 is the scale of run r, with those of 4 bits at i, of the block at at.
func scaleIQ2(d *Data, at, i, r int) float32 {
	s := d.U8(i+r>>2) >> (r >> 1 & 1 * 4) & 15
	return d.F16(at) * (0.5 + float32(s)) * 0.25
}
