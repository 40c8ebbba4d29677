package format

import "github.com/gokiln/kiln/dsl"

// Tables of code books in shared memory. A code of 2 bits for each element is a word of nibbles there,
// by which dsl.Permute picks values.

// spreadCode makes a code of 8 times 2 bits one of nibbles.
func spreadCode(code uint16) uint32 {
	x := uint32(code)
	x = x&0x00FF | x&0xFF00<<8
	x = x&0x000F000F | x&0x00F000F0<<4
	return x&0x03030303 | x&0x0C0C0C0C<<2
}

// signMasks has all bits of those bytes set whose bit of the lowest four is.
func signMasks(signs uint32) uint32 { return dsl.Permute(signs&15*0x10204080, 0, 0xBA98) }

// negateMasked changes the sign of the bytes of a mask, none of which is 0.
func negateMasked(w, mask uint32) uint32 { return (w ^ mask) + mask&ones }

// values2 is word i of the values of codes of 2 bits: those themselves, and their negatives.
func values2(i int) uint32 {
	if i == 0 {
		return 8 | 25<<8 | 43<<16
	}
	return 0x00D5E7F8
}

// signNibbles makes 8 signs the third bits of nibbles.
func signNibbles(signs uint32) (nibbles uint32) {
	for j := range 8 {
		nibbles |= signs >> j & 1 << (4*j + 2)
	}
	return nibbles
}

// runs2 are the values of four codes of 8 elements, 8, 25 and 43, with their signs, by the indices that
// both have in the table.
// Behind 128 signs, or 256, it has these values themselves.
func runs2(d *Data, codes, signs [4]uint32, values int) (q [8]uint32) {
	positive, negative := d.Table[values], d.Table[values+1]
	for l := range 4 {
		code := d.Table[codes[l]] | d.Table[signs[l]]
		q[2*l], q[2*l+1] = dsl.Permute(positive, negative, code), dsl.Permute(positive, negative, code>>16)
	}
	return q
}

// octet returns the 8 bytes at an even i.
func (d *Data) octet(i int) (lo, hi uint32) {
	w := i >> 2
	a, b, c := d.W[w], d.W[w+1], d.W[w+2]
	return d.from(i, a, b), d.from(i, b, c)
}

// word returns the four bytes at an even i.
func (d *Data) word(i int) uint32 { return d.from(i, d.W[i>>2], d.W[i>>2+1]) }
