package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/amd64/regalloc"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// address is where the lanes of a vector access memory.
type address struct {
	mem asm.Arg // of lane 0, or what off is added to
	// step is the distance in bytes from lane to lane, 0 of one address for all.
	step int64
	// off has the offset of each lane, if they follow no rule: 32 bits signed (n is
	// 1) or 64 (n is 2). It replaces step.
	off   val
	scale uint8 // of off
}

func (a *address) scattered() bool { return a.off.n > 0 }

// product is an index and what it is multiplied by.
type product struct {
	index *ir.Value
	scale int64
}

// emitter makes the code of one entry of a kernel.
type emitter struct {
	*analysis.Lanes
	*code
	m      *ir.Module
	full   []bool // by position: all lanes are on
	ranges func(*ir.Value, *ir.Block) (lo, hi int64)

	vals    []val // by value ID: where it is
	spreads []val // by value ID: the vector of one that is kept once, if made
	near    map[*ir.Value]spreadIn
	lazy    []bool                          // by value ID: a pointer that accesses form themselves
	fused   []bool                          // by value ID: a comparison that its branch makes
	negated []bool                          // by value ID: a negation that the multiply-adds which use it do
	mixed   map[*ir.Value]mixedDot          // differences of products of bytes that are one instruction
	lookups map[*ir.Value]lookup            // permutations that are one instruction
	wanted  []bool                          // by value ID: of one kept once, that a vector is needed
	used    []bool                          // by value ID
	quick   map[*ir.Value]analysis.LaneTest // conditions of branches that all lanes take most often
	limited [][]limit                       // by value ID: what is made of a length for checks of indices
	limits  map[limit]asm.Reg
	// products are what has been made in the block so far.
	products map[product]asm.Reg
	taken    map[string]asm.Reg // by lanesKey: numbers of lanes that are loaded where the kernel begins

	prefetched prefetches

	spots   []spot
	repeats []repeat
	masks   []asm.Reg // by class

	cold   []func()
	sites  []image.Site
	shared []int32 // by object: offset in shared memory
	locals int     // bytes of a thread

	barriers                            bool
	blockStart, body, end, leave, fault label
	meet, setResume                     label
}

// frameSize stands for the size of a frame until registers are allocated.
const frameSize = 0x7ead_be00

// spot is where control can come to for the sake of a block.
type spot struct {
	start  label    // before the test
	body   label    // behind it: where loops go back to
	before []func() // run before the test: what loops in the block gather
	inside []func() // run behind it
	blend  []val    // by parameter: where edges put its value
	mask   asm.Reg  // of tested blocks: the lanes that have arrived
	once   bool     // a tested block that lanes reach from one branch, once
}

// repeat is a loop that lanes leave one by one.
type repeat struct {
	latch label
	mask  asm.Reg // lanes that go round again
	next  []val   // by parameter of the header: its value in the next iteration
}

// label names an address in the code before it is known which block that will be.
type label int

// limit is something to compare the indices below a length with: the number of those with the span
// of a vector above them, or if short is set the length itself, but at most 2^31, as a vector.
type limit struct {
	n     *ir.Value
	span  int64
	short bool
}

// maxSpan bounds how far the indices of a vector are apart, so that it fits in
// instructions.
const maxSpan = 1 << 30

// mixedDot is a dot product of unsigned bytes with signed ones, which is one instruction of VNNI.
// Code has it as the product of bytes whose top bits are inverted, less that of -128 in place of
// each of them. If the first operand is no inversion, its own top bits are inverted: the unsigned bytes
// were inverted signed ones, say.
type mixedDot struct {
	unsigned, signed, sum *ir.Value
	invert                bool
}

// offsets is a sum of what the lanes of a vector add to an address.
type offsets struct {
	e     *emitter
	mem32 bool // the memory is small: 32 bits are enough
	terms []term
	step  int64 // bytes from lane to lane
}

// term is an index and what it is multiplied by.
type term struct {
	index *ir.Value
	scale int64
}

// prefetches are what the emitter has prefetched so far, and with what.
type prefetches struct {
	strides *analysis.Strides
	// leads are the registers for how many elements later something is read, by what loops over
	// the grid go up by: see newLead.
	leads   map[*ir.Value]asm.Reg
	streams map[stream]bool
	tiles   map[tile]bool
}

// stream is memory that a loop goes through: what is near in one is near in cache.
type stream struct {
	in *analysis.Stride
	of *ir.Value
}

// tile is memory that a basic block accesses.
type tile struct {
	of *ir.Value
	at int
}

// spreadIn is the vector of a value kept once, made for uses in one block of the code.
type spreadIn struct {
	val
	in *regalloc.Block
}

// lookup is the bytes of a table of 16 whose numbers are the low nibbles of a word's bytes, or the high
// ones. Code for GPUs has it as seven permutations, each of which picks out of eight bytes:
//
//	which := w & 0x77777777
//	upper := w&0x88888888>>1 | 0x32103210
//	a := permute(permute(t0, t1, which), permute(t2, t3, which), upper)
//	b := permute(permute(t0, t1, which>>16), permute(t2, t3, which>>16), upper>>16)
//	low, high := permute(a, b, 0x6420), permute(a, b, 0x7531)
//
// It is one instruction of vectors, which picks out of 16.
type lookup struct {
	word  *ir.Value
	table [4]uint32
	high  bool
}
