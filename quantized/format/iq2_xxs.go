package format

import (
	"math/bits"
	"sync"
)

// BlockIQ2_XXS is [IQ2_XXS]: 256 elements in groups of 32, each run of 8 out of a code book of 256,
// with 7 bits for their signs.
//
//	0  d   half
//	2  qs  8 groups of 8 bytes: 4 indices of the code book, then 4 times 7 bits of signs, and above
//	       them a scale of 4 bits
//
// An element is (d·(scale+½)/4)·value. The eighth sign is the parity of the others.
type BlockIQ2_XXS struct{}

// Elems is 256.
func (BlockIQ2_XXS) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockIQ2_XXS) Bytes() int { return 66 }

// Run is as [Block] says.
func (BlockIQ2_XXS) Run(d Data, at, r int) Run {
	i, l := at+2+r>>2*8, r&3
	code := uint32(gridIQ2_XXS[d.U8(i+l)])
	high := d.U32Of16(i + 4)
	return signed2(code, evenSigns(high>>(7*l)), d.F16(at)*(0.5+float32(high>>28))*0.25)
}

// Scales is 1.
func (BlockIQ2_XXS) Scales() int { return 1 }

// HasMin is false.
func (BlockIQ2_XXS) HasMin() bool { return false }

// Part is as [Block] says.
func (f BlockIQ2_XXS) Part(d Data, at, p int) Part {
	if d.Words {
		return f.tablePart(&d, at, p)
	}
	return joined(f.Run(d, at, 4*p), f.Run(d, at, 4*p+1), f.Run(d, at, 4*p+2), f.Run(d, at, 4*p+3))
}

// TableLen is how many codes and signs there are, and their values.
func (BlockIQ2_XXS) TableLen() int { return 256 + 128 + 4 }

// TableWord is a code, or signs, in nibbles, or some values.
func (BlockIQ2_XXS) TableWord(i int) uint32 {
	if i < 256 {
		return spreadCode(gridIQ2_XXS[i])
	}
	if i < 256+128 {
		return signNibbles(evenSigns(uint32(i - 256)))
	}
	return values2(i - (256 + 128))
}

// tablePart is Part by the table.
func (BlockIQ2_XXS) tablePart(d *Data, at, p int) Part {
	codes, high := d.octet(at + 2 + 8*p)
	var signs, to [4]uint32
	for l := range 4 {
		to[l], signs[l] = codes>>(8*l)&255, 256+high>>(7*l)&127
	}
	return plain(runs2(d, to, signs, 256+128), d.F16(at)*(0.5+float32(high>>28))*0.25)
}

// evenSigns are the 8 signs that the lowest 7 bits stand for: an even number of them is set.
func evenSigns(x uint32) uint32 {
	x &= 127
	return x | uint32(bits.OnesCount32(x))&1<<7
}

// signed2 is a run of the values that a code of 8 times 2 bits stands for: 8, 25 and 43.
func signed2(code, signs uint32, d float32) Run {
	lo, hi := spreadPairs(code), spreadPairs(code>>8)
	lo = 8*ones + 17*lo + lo>>1&ones
	hi = 8*ones + 17*hi + hi>>1&ones
	return scaled(negateBytes(lo, signs), negateBytes(hi, signs>>4), d)
}

// QuantizeHost searches the code book for each group, with importance.
func (BlockIQ2_XXS) QuantizeHost(out []uint8, x, importance []float32) {
	s := bookSearch{book: bookIQ2_XXS(), steps: 6, each: 0.1, least: tiny, even: true, again: true, positive: true}
	list, levels, d := s.groups(x, bookWeights(x, importance, 1, 0), 32)
	clear(out)
	if d == 0 {
		return
	}
	putF16(out, 0, d)
	for i, g := range list {
		for k := range 4 {
			out[2+8*i+k] = uint8(g.numbers[k])
		}
		put32(out, 6+8*i, evenWord(g.signs, levels[i]))
	}
}

var bookIQ2_XXS = sync.OnceValue(func() *codeBook {
	codes := gridIQ2_XXS // kernels read tables that nobody slices
	return newBook(codes[:], 2, 3, 2)
})
