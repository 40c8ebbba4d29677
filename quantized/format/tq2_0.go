package format

// BlockTQ2_0 is [TQ2_0]: 256 elements of -1, 0 and 1 with a scale, in 2 bits each.
//
//	0   qs  64 bytes, as those of [BlockQ2_K]
//	64  d   half
//
// An element is d·(q-1).
type BlockTQ2_0 struct{}

// Elems is 256.
func (BlockTQ2_0) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockTQ2_0) Bytes() int { return 66 }

// Run is as [Block] says.
func (BlockTQ2_0) Run(d Data, at, r int) Run {
	i := at + pairsAt(r)
	lo, hi := pairs(d.U32Of16(i), d.U32Of16(i+4), r)
	return scaled(lessBytes(lo, 1), lessBytes(hi, 1), d.F16(at+64))
}
