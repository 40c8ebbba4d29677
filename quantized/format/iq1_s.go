package format

// BlockIQ1_S is [IQ1_S]: 256 elements in groups of 32, each run of 8 out of a code book of 2048.
//
//	0   d   half
//	2   qs  32 bytes: the lower 8 bits of an index for each run
//	34  qh  8 of 2 bytes: 4 times the higher 3 bits of indices, a scale of 3 bits, and the sign of δ
//
// An element is (d·(2·scale+1))·(value+δ), where δ is ⅛ or -⅛, and values are -1, 0 and 1.
type BlockIQ1_S struct{}

// Elems is 256.
func (BlockIQ1_S) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockIQ1_S) Bytes() int { return 50 }

// Run is as [Block] says.
func (BlockIQ1_S) Run(d Data, at, r int) Run {
	h := d.U16(at + 34 + r>>2*2)
	i := d.U8(at+2+r) | h>>(r&3*3)&7<<8
	return shifted(uint32(gridIQ1_S[i]), h>>15, d.F16(at)*float32(h>>12&7*2+1))
}

// shifted is a run of the values that a code of 8 times 2 bits stands for, plus ⅛, or less ⅛ where
// negative is 1. All are multiples of ⅛, of which a run holds how many.
func shifted(code, negative uint32, d float32) Run {
	less := 7 + 2*negative // 8, less 1 or more 1
	lo, hi := spreadPairs(code)<<3, spreadPairs(code>>8)<<3
	return scaled(lessBytes(lo, less), lessBytes(hi, less), d*0.125)
}
