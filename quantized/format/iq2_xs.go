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
	if d.Words {
		return f.tablePart(&d, at, p)
	}
	return joined(f.Run(d, at, 4*p), f.Run(d, at, 4*p+1), f.Run(d, at, 4*p+2), f.Run(d, at, 4*p+3))
}

// TableLen is how many codes and signs there are, and their values.
func (BlockIQ2_XS) TableLen() int { return 512 + 128 + 4 }

// TableWord is a code, or signs, in nibbles, or some values.
func (BlockIQ2_XS) TableWord(i int) uint32 {
	if i < 512 {
		return spreadCode(gridIQ2_XS[i])
	}
	if i < 512+128 {
		return signNibbles(evenSigns(uint32(i - 512)))
	}
	return values2(i - (512 + 128))
}

// tablePart is Part by the table.
func (BlockIQ2_XS) tablePart(d *Data, at, p int) Part {
	a, b := d.octet(at + 2 + 8*p)
	to := [4]uint32{a & 511, a >> 16 & 511, b & 511, b >> 16 & 511}
	signs := [4]uint32{512 + a>>9&127, 512 + a>>25, 512 + b>>9&127, 512 + b>>25}
	return Part{Q: runs2(d, to, signs, 512+128), D: scalesIQ2(d, at, at+66, p)}
}

// scalesIQ2 are the scales of part p, with those of 4 bits at i, of the block at at.
func scalesIQ2(d *Data, at, i, p int) [2]float32 {
	s, scale := d.U8(i+p), d.F16(at)
	return [2]float32{scale * (0.5 + float32(s&15)) * 0.25, scale * (0.5 + float32(s>>4)) * 0.25}
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
