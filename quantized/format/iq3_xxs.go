package format

import "sync"

// BlockIQ3_XXS is [IQ3_XXS]: 256 elements in groups of 32, each four out of a code book of 256,
// with 7 bits for the signs of 8.
//
//	0   d      half
//	2   qs     64 bytes: an index for each four elements
//	66  signs  8 of 4 bytes: 4 times 7 bits of signs, and above them a scale of 4 bits
//
// An element is (d·(scale+½)/2)·value, with signs as those of [BlockIQ2_XXS].
type BlockIQ3_XXS struct{}

// Elems is 256.
func (BlockIQ3_XXS) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockIQ3_XXS) Bytes() int { return 98 }

// Run is as [Block] says.
func (BlockIQ3_XXS) Run(d Data, at, r int) Run {
	q := d.U16(at + 2 + r*2)
	high := d.U32Of16(at + 66 + r>>2*4)
	a, b := uint32(gridIQ3_XXS[q&255]), uint32(gridIQ3_XXS[q>>8])
	signs := evenSigns(high >> (r & 3 * 7))
	lo, hi := negateBytes(values3(a), signs), negateBytes(values3(b), signs>>4)
	return scaled(lo, hi, d.F16(at)*(0.5+float32(high>>28))*0.5)
}

// Scales is 1.
func (BlockIQ3_XXS) Scales() int { return 1 }

// HasMin is false.
func (BlockIQ3_XXS) HasMin() bool { return false }

// Part is as [Block] says.
func (f BlockIQ3_XXS) Part(d Data, at, p int) Part {
	if d.Words {
		return f.tablePart(&d, at, p)
	}
	return joined(f.Run(d, at, 4*p), f.Run(d, at, 4*p+1), f.Run(d, at, 4*p+2), f.Run(d, at, 4*p+3))
}

// TableLen is how many codes there are.
func (BlockIQ3_XXS) TableLen() int { return 256 }

// TableWord is the values of a code.
func (BlockIQ3_XXS) TableWord(i int) uint32 { return values3(uint32(gridIQ3_XXS[i])) }

// tablePart is Part by the table.
func (BlockIQ3_XXS) tablePart(d *Data, at, p int) Part {
	a, b := d.octet(at + 2 + 8*p)
	high := d.word(at + 66 + 4*p)
	var q [8]uint32
	for l := range 4 {
		signs := evenSigns(high >> (7 * l))
		for j := range 2 {
			q[2*l+j] = negateMasked(d.Table[a>>(8*j)&255], signMasks(signs>>(4*j)))
		}
		a = a>>16 | b<<16
		b >>= 16
	}
	return plain(q, d.F16(at)*(0.5+float32(high>>28))*0.5)
}

// values3 are the values that a code of 4 times 3 bits stands for: 4, 12, … 52 and 62.
func values3(code uint32) uint32 {
	x := spreadTriples(code)
	return 4*ones + 8*x + (x+ones)>>3&ones*2
}

// spreadTriples puts each three of the lowest 12 bits into a byte.
func spreadTriples(x uint32) uint32 {
	x = x&0x3F | x&0xFC0<<10
	return x&0x00070007 | x&0x00380038<<5
}

// QuantizeHost searches the code book for each group, with importance or without.
func (BlockIQ3_XXS) QuantizeHost(out []uint8, x, importance []float32) {
	s := bookSearch{book: bookIQ3_XXS(), steps: 15, each: 0.2, least: 1e-8, even: true}
	list, levels, d := s.groups(x, bookWeights(x, importance, 2, 0), 32)
	clear(out)
	if d == 0 {
		return
	}
	putF16(out, 0, d*1.0125)
	for i, g := range list {
		for k := range 8 {
			out[2+8*i+k] = uint8(g.numbers[k])
		}
		put32(out, 66+4*i, evenWord(g.signs, levels[i]))
	}
}

var bookIQ3_XXS = sync.OnceValue(func() *codeBook {
	codes := gridIQ3_XXS // kernels read tables that nobody slices
	return newBook(codes[:], 3, 8, 2)
})
