package pass

import "github.com/gokiln/kiln/compiler/ir"

// What code generators that change the IR themselves take from the passes.

// Copies adds copies of some blocks of f to it and returns what stands for their
// values and blocks in the copies. Edges between the blocks become edges between the
// copies; others lead where they led.
func Copies(f *ir.Func, blocks []*ir.Block) (value func(*ir.Value) *ir.Value, block func(*ir.Block) *ir.Block) {
	c := newCloner(f, f)
	for _, b := range blocks {
		c.newBlock(b)
	}
	for _, b := range blocks { // in an order in which definitions come before uses
		c.instrs(b, c.blocks[b.ID])
	}
	for _, b := range blocks {
		c.term(b, c.blocks[b.ID])
	}
	return c.value, c.block
}

// Ranges returns a function that gives the range of an integer in a block of f, both
// ends included, for the threads that get there.
func Ranges(f *ir.Func) func(v *ir.Value, b *ir.Block) (lo, hi int64) {
	r := newRanges(f, false)
	return func(v *ir.Value, b *ir.Block) (int64, int64) {
		x := r.at(v, b)
		return x.lo, x.hi
	}
}
