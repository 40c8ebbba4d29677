package format

// BlockQ6_K is [Q6_K]: 256 elements of 6 bits in groups of 16, with scales of 8 bits.
//
//	0    ql      128 bytes: the lower 4 bits of element 128·h + 64·n + l in nibble n of byte 64·h + l
//	128  qh      64 bytes: the higher 2 bits of element 128·h + 32·s + l in bits 2s of byte 32·h + l
//	192  scales  16 signed bytes
//	208  d       half
//
// An element is (d·scale)·(q-32).
type BlockQ6_K struct{}

// Elems is 256.
func (BlockQ6_K) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockQ6_K) Bytes() int { return 210 }

// Run is as [Block] says.
func (BlockQ6_K) Run(d Data, at, r int) Run {
	i, shift := at+r>>4*64+r&7*8, r>>3&1*4
	lo, hi := d.U32Of16(i)>>shift&lowNibbles, d.U32Of16(i+4)>>shift&lowNibbles
	h := at + 128 + pairsAt(r)
	lo2, hi2 := pairs(d.U32Of16(h), d.U32Of16(h+4), r)
	scale := d.F16(at+208) * float32(int8(d.B[at+192+r>>1]))
	return scaled(lessBytes(lo|lo2<<4, 32), lessBytes(hi|hi2<<4, 32), scale)
}
