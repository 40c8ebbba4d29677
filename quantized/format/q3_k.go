package format

// BlockQ3_K is [Q3_K]: 256 elements of 3 bits in groups of 16, with scales of 6 bits.
//
//	0    hmask   32 bytes: bit 2 of element 32·b + l, inverted, is bit b of byte l
//	32   qs      64 bytes: the lower bits, as those of [BlockQ2_K]
//	96   scales  12 bytes: low bits of scale j in a nibble of the first eight, low ones first; its
//	             two high bits in byte 8 + j%4, those of j < 4 lowest
//	108  d       half
//
// An element is (d·(scale-32))·(q-4).
type BlockQ3_K struct{}

// Elems is 256.
func (BlockQ3_K) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockQ3_K) Bytes() int { return 110 }

// Run is as [Block] says.
func (BlockQ3_K) Run(d Data, at, r int) Run {
	i := at + 32 + pairsAt(r)
	lo, hi := pairs(d.U32Of16(i), d.U32Of16(i+4), r)
	h, bit := at+r&3*8, r>>2
	lo |= d.U32Of16(h) >> bit & ones << 2
	hi |= d.U32Of16(h+4) >> bit & ones << 2
	scale := d.F16(at+108) * float32(int32(scaleQ3K(&d, at+96, r>>1))-32)
	return scaled(lessBytes(lo, 4), lessBytes(hi, 4), scale)
}

// scaleQ3K is scale j of the 12 bytes at i.
func scaleQ3K(d *Data, i, j int) uint32 {
	return d.U8(i+j&7)>>(j>>3*4)&15 | d.U8(i+8+j&3)>>(j>>2*2)&3<<4
}
