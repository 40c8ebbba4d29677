package format

import "math"

// BlockMXFP4 is [MXFP4]: 32 numbers of 4 bits, E2M1, with a power of two, E8M0, as scale, of the
// Open Compute Project's Microscaling Formats (MX) Specification 1.0.
//
//	0  e   byte
//	1  qs  16 bytes, as those of [BlockQ4_0]
//
// An element is 2^(e-128) times value q of a table, which has twice the values of E2M1. An e of 255
// is the largest power here, and no NaN.
type BlockMXFP4 struct{}

// Elems is 32.
func (BlockMXFP4) Elems() int { return 32 }

// Bytes is how many bytes the fields have.
func (BlockMXFP4) Bytes() int { return 17 }

// Run is as [Block] says.
func (BlockMXFP4) Run(d Data, at, r int) Run {
	i, shift := at+1+r&1*8, r>>1*4
	lo, hi := d.U32Of8(i)>>shift&lowNibbles, d.U32Of8(i+4)>>shift&lowNibbles
	return scaled(valuesE2M1(lo), valuesE2M1(hi), halfE8M0(d.U8(at)))
}

// halfE8M0 is 2^(e-128), which is a denormal number for the two smallest e.
func halfE8M0(e uint32) float32 {
	if e < 2 {
		return math.Float32frombits(1 << 21 << e)
	}
	return math.Float32frombits((e - 1) << 23)
}

// valuesE2M1 looks up twice the values of four elements.
func valuesE2M1(w uint32) uint32 {
	return lookup(w, wordMXFP4_0, wordMXFP4_1, wordMXFP4_2, wordMXFP4_3)
}
