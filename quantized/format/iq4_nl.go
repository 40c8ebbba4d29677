package format

// BlockIQ4_NL is [IQ4_NL]: 32 elements of 4 bits with a scale, whose values are not equally far
// apart.
//
//	0  d   half
//	2  qs  16 bytes, as those of [BlockQ4_0]
//
// An element is d times value q of a table.
type BlockIQ4_NL struct{}

// Elems is 32.
func (BlockIQ4_NL) Elems() int { return 32 }

// Bytes is how many bytes the fields have.
func (BlockIQ4_NL) Bytes() int { return 18 }

// Run is as [Block] says.
func (BlockIQ4_NL) Run(d Data, at, r int) Run {
	lo, hi := nibbles16(&d, at+2, r)
	return scaled(valuesIQ4(lo), valuesIQ4(hi), d.F16(at))
}

// valuesIQ4 looks up the values of four elements.
func valuesIQ4(w uint32) uint32 {
	return lookup(w, wordIQ4_0, wordIQ4_1, wordIQ4_2, wordIQ4_3)
}
