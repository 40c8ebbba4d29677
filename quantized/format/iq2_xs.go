package format

import "sync"

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

// Scales is 2.
func (BlockIQ2_XS) Scales() int { return 2 }

// HasMin is false.
func (BlockIQ2_XS) HasMin() bool { return false }

// Part is as [Block] says.
func (f BlockIQ2_XS) Part(d Data, at, p int) Part {
	return joined(f.Run(d, at, 4*p), f.Run(d, at, 4*p+1), f.Run(d, at, 4*p+2), f.Run(d, at, 4*p+3))
}

// scaleIQ2 is the scale of run r, with those of 4 bits at i, of the block at at.
func scaleIQ2(d *Data, at, i, r int) float32 {
	s := d.U8(i+r>>2) >> (r >> 1 & 1 * 4) & 15
	return d.F16(at) * (0.5 + float32(s)) * 0.25
}

// QuantizeHost searches the code book for each group, with importance.
func (BlockIQ2_XS) QuantizeHost(out []uint8, x, importance []float32) {
	s := bookSearch{book: bookIQ2_XS(), steps: 9, each: 0.1, least: tiny, even: true}
	list, levels, d := s.groups(x, bookWeights(x, importance, 1, 0), 16)
	clear(out)
	if d == 0 {
		return
	}
	putF16(out, 0, d)
	for i, g := range list {
		for k := range 2 {
			put16(out, 2+4*i+2*k, uint32(g.numbers[k])|uint32(g.signs[k]&127)<<9)
		}
		out[66+i/2] |= uint8(levels[i]) << (i % 2 * 4)
	}
}

var bookIQ2_XS = sync.OnceValue(func() *codeBook {
	codes := gridIQ2_XS // kernels read tables that nobody slices
	return newBook(codes[:], 2, 3, 2)
})
