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
