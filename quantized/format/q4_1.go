package format

// BlockQ4_1 is [Q4_1]: 32 elements of 4 bits with a scale and a minimum.
//
//	0  d, m  halves
//	4  qs    16 bytes, as those of [BlockQ4_0]
//
// An element is d·q + m.
type BlockQ4_1 struct{}

// Elems is 32.
func (BlockQ4_1) Elems() int { return 32 }

// Bytes is how many bytes the fields have.
func (BlockQ4_1) Bytes() int { return 20 }

// Run is as [Block] says.
func (BlockQ4_1) Run(d Data, at, r int) Run {
	lo, hi := nibbles32(&d, at+4, r)
	return Run{[2]uint32{lo, hi}, d.F16(at), d.F16(at + 2)}
}
