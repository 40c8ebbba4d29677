package format

import "sync"

// BlockIQ3_S is [IQ3_S]: 256 elements in groups of 32, each four out of a code book of 512, with 8
// signs.
//
//	0    d       half
//	2    qs      64 bytes: the lower 8 bits of an index for each four elements
//	66   qh      8 bytes: bit 8 of the indices of 32 elements, lowest first
//	74   signs   32 bytes: one for each run
//	106  scales  4 bytes: a scale of 4 bits for each group, low nibble first
//
// An element is (d·(2·scale+1))·value.
type BlockIQ3_S struct{}

// Elems is 256.
func (BlockIQ3_S) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockIQ3_S) Bytes() int { return 110 }

// Run is as [Block] says.
func (BlockIQ3_S) Run(d Data, at, r int) Run {
	q := d.U16(at + 2 + r*2)
	top := d.U8(at+66+r>>2) >> (r & 3 * 2)
	s := d.U8(at+106+r>>3) >> (r >> 2 & 1 * 4) & 15
	a, b := gridIQ3_S[q&255|top&1<<8], gridIQ3_S[q>>8|top&2<<7]
	lo, hi := ones+2*spreadTriples(uint32(a)), ones+2*spreadTriples(uint32(b)) // 1, 3, … 15
	signs := d.U8(at + 74 + r)
	return scaled(negateBytes(lo, signs), negateBytes(hi, signs>>4), d.F16(at)*float32(2*s+1))
}

// Scales is 1.
func (BlockIQ3_S) Scales() int { return 1 }

// HasMin is true.
func (BlockIQ3_S) HasMin() bool { return true }

// Part is as [Block] says.
func (f BlockIQ3_S) Part(d Data, at, p int) Part {
	if d.Words {
		return f.tablePart(&d, at, p)
	}
	return joined(f.Run(d, at, 4*p), f.Run(d, at, 4*p+1), f.Run(d, at, 4*p+2), f.Run(d, at, 4*p+3))
}

// TableLen is how many codes there are.
func (BlockIQ3_S) TableLen() int { return 512 }

// TableWord is the levels of a code.
func (BlockIQ3_S) TableWord(i int) uint32 { return spreadTriples(uint32(gridIQ3_S[i])) }

// tablePart is Part by the table.
func (BlockIQ3_S) tablePart(d *Data, at, p int) Part {
	a, b := d.octet(at + 2 + 8*p)
	top, signs := d.U8(at+66+p), d.word(at+74+4*p)
	var q [8]uint32
	for l := range 8 {
		q[l] = d.Table[a&255|top<<8&256] ^ signMasks(signs)
		a, b = a>>8|b<<24, b>>8
		top, signs = top>>1, signs>>4
	}
	s := d.U8(at+106+p>>1) >> (uint32(p) & 1 * 4) & 15
	// A value is 2·level + 1, and its negative 2·(-level-1) + 1.
	scale := d.F16(at) * float32(2*s+1)
	return Part{Q: q, D: [2]float32{2 * scale}, M: [2]float32{scale}}
}

// QuantizeHost searches the code book for each group, with importance or without. As in the reference,
// the indices and signs of a group of zeros are left out, so that those of later groups of the block
// move forward, where nothing but their bits of qh belongs to them: blocks of which a part is zeros
// do not come back as they were.
func (BlockIQ3_S) QuantizeHost(out []uint8, x, importance []float32) {
	s := bookSearch{book: bookIQ3_S(), steps: 9, each: 0.2, again: true}
	list, levels, d := s.groups(x, bookWeights(x, importance, 2, 0), 32)
	clear(out)
	at := 0
	for i, g := range list {
		out[106+i/2] |= uint8(levels[i]) << (i % 2 * 4)
		if g.scale == 0 {
			continue
		}
		for k := range 8 {
			out[2+8*at+k] = uint8(g.numbers[k])
			out[66+i] |= uint8(g.numbers[k]>>8) << k
		}
		copy(out[74+4*at:], g.signs[:])
		at++
	}
	putF16(out, 0, d*1.033)
}

var bookIQ3_S = sync.OnceValue(func() *codeBook {
	codes := gridIQ3_S // kernels read tables that nobody slices
	return newBook(codes[:], 3, 8, 3)
})
