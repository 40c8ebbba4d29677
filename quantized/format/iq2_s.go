package format

import "sync"

// BlockIQ2_S is [IQ2_S]: 256 elements in groups of 16, each run of 8 out of a code book of 1024,
// with 8 signs.
//
//	0   d       half
//	2   qs      32 bytes: the lower 8 bits of an index for each run
//	34  signs   32 bytes: one for each run
//	66  qh      8 bytes: the higher 2 bits of the indices of 4 runs, lowest first
//	74  scales  8 bytes, as those of [BlockIQ2_XS]
//
// An element is (d·(scale+½)/4)·value.
type BlockIQ2_S struct{}

// Elems is 256.
func (BlockIQ2_S) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockIQ2_S) Bytes() int { return 82 }

// Run is as [Block] says.
func (BlockIQ2_S) Run(d Data, at, r int) Run {
	i := d.U8(at+2+r) | d.U8(at+66+r>>2)>>(r&3*2)&3<<8
	return signed2(uint32(gridIQ2_S[i]), d.U8(at+34+r), scaleIQ2(&d, at, at+74, r))
}

// Scales is 2.
func (BlockIQ2_S) Scales() int { return 2 }

// HasMin is false.
func (BlockIQ2_S) HasMin() bool { return false }

// Part is as [Block] says.
func (f BlockIQ2_S) Part(d Data, at, p int) Part {
	if d.Words {
		return f.tablePart(&d, at, p)
	}
	return joined(f.Run(d, at, 4*p), f.Run(d, at, 4*p+1), f.Run(d, at, 4*p+2), f.Run(d, at, 4*p+3))
}

// TableLen is how many codes and signs there are, and their values.
func (BlockIQ2_S) TableLen() int { return 1024 + 256 + 4 }

// TableWord is a code, or signs, in nibbles, or some values.
func (BlockIQ2_S) TableWord(i int) uint32 {
	if i < 1024 {
		return spreadCode(gridIQ2_S[i])
	}
	if i < 1024+256 {
		return signNibbles(uint32(i - 1024))
	}
	return values2(i - (1024 + 256))
}

// tablePart is Part by the table.
func (BlockIQ2_S) tablePart(d *Data, at, p int) Part {
	low, top, s := d.word(at+2+4*p), d.U8(at+66+p), d.word(at+34+4*p)
	var signs, to [4]uint32
	for l := range 4 {
		to[l], signs[l] = low>>(8*l)&255|top>>(2*l)&3<<8, 1024+s>>(8*l)&255
	}
	return Part{Q: runs2(d, to, signs, 1024+256), D: scalesIQ2(d, at, at+74, p)}
}

// QuantizeHost searches the code book for each group, with importance or without.
func (BlockIQ2_S) QuantizeHost(out []uint8, x, importance []float32) {
	s := bookSearch{book: bookIQ2_S(), steps: 9, each: 0.1, least: 1e-8}
	list, levels, d := s.groups(x, bookWeights(x, importance, 2, 0.25), 16)
	clear(out)
	for i, g := range list {
		for k := range 2 {
			at := 2*i + k
			out[2+at] = uint8(g.numbers[k])
			out[34+at] = g.signs[k]
			out[66+at/4] |= uint8(g.numbers[k]>>8) << (at % 4 * 2)
		}
		out[74+i/2] |= uint8(levels[i]) << (i % 2 * 4)
	}
	putF16(out, 0, d*0.9875)
}

var bookIQ2_S = sync.OnceValue(func() *codeBook {
	codes := gridIQ2_S // kernels read tables that nobody slices
	return newBook(codes[:], 2, 3, 1)
})
