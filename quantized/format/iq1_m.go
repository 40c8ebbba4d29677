package format

import "github.com/gokiln/kiln/dsl"

// BlockIQ1_M is [IQ1_M]: 256 elements in groups of 16, each run of 8 out of the code book of
// [BlockIQ1_S].
//
//	0   qs      32 bytes: the lower 8 bits of an index for each run
//	32  qh      16 bytes: a nibble for each run, the higher 3 bits of the index and the sign of δ
//	48  scales  4 of 2 bytes: 4 scales of 3 bits, and a nibble of d, a half, lowest first
//
// An element is (d·(2·scale+1))·(value+δ), where δ is ⅛ or -⅛.
type BlockIQ1_M struct{}

// Elems is 256.
func (BlockIQ1_M) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockIQ1_M) Bytes() int { return 56 }

// Run is as [Block] says.
func (BlockIQ1_M) Run(d Data, at, r int) Run {
	h := d.U8(at+32+r>>1) >> (r & 1 * 4)
	i := d.U8(at+r) | h&7<<8
	s0, s1 := d.U32(at+48), d.U32(at+52)
	half := s0>>12&0xF | s0>>24&0xF0 | s1>>4&0xF00 | s1>>16&0xF000
	scale := d.U16(at+48+r>>3*2) >> (r >> 1 & 3 * 3) & 7
	return shifted(uint32(gridIQ1_S[i]), h>>3&1, dsl.F32(dsl.F16(uint16(half)))*float32(2*scale+1))
}
