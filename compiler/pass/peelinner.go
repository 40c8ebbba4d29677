package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// peelRounds bounds how deep branches are within each other of which there are copies.
const peelRounds = 4

// peelInner copies what is behind branches in the copies, which a vector takes as a whole
// most often, too.
func peelInner(f *ir.Func, lanes int) error {
	size := -1
	for range peelRounds {
		if !slices.ContainsFunc(f.Blocks, mayPart) {
			return nil
		}
		p, err := newPeeler(f, lanes)
		if err != nil {
			return err
		}
		if p.size = size; size < 0 {
			p.size = p.copied()
		}
		if !p.inner() {
			return nil
		}
		size = p.size
	}
	return nil
}

// copied returns how many operations pass peel has copied, to which those that peelInner copies
// are added: the tails but for those of rows, whose tests have several comparisons.
func (p *peeler) copied() (n int) {
	tail := make([]bool, len(p.Blocks))
	for i := range p.Blocks {
		tail[i] = p.Blocks[i].Block.Tail
	}
	for i := range p.Blocks {
		test := analysis.EndsInWhole(p.Blocks[i].Block)
		if test == nil {
			continue
		}
		no := &p.Blocks[p.Pos[p.Blocks[i].Block.Term.Succs[1].To.ID]]
		switch {
		case len(test.Args) > 1:
			clear(tail[no.At:no.End])
		case test.Imm != ir.OffLanes && p.Heads(i) < 0:
			tail[no.At] = false // the branch as it was
		}
	}
	for i, is := range tail {
		if is {
			n += vectorSize(p.Blocks[i].Block.Instrs)
		}
	}
	return n
}

// mayPart reports whether a block of a copy might end in a branch that [peeler.findInner] finds.
func mayPart(b *ir.Block) bool {
	return !b.Tail && b.Term.Kind == ir.TermBranch && analysis.OrdersWide(b.Term.Args[0])
}

// inner does so once, and reports whether there was anything to do.
func (p *peeler) inner() (any bool) {
	tests := make([]laneTest, len(p.Blocks))
	for i := range p.Blocks {
		if p.Parts[i] && !p.Blocks[i].Block.Tail && p.inStep(i) {
			tests[i] = p.findInner(i)
		}
	}
	for i, t := range tests {
		if !p.done[i] && t.OK {
			any = p.branch(i, t) || any
		}
	}
	return any
}

// findInner is find for either side of the branch: for that of which there can be a copy.
func (p *peeler) findInner(i int) laneTest {
	t := p.find(i)
	if !t.OK || p.OnlyFrom(i, t.Succ) {
		return t
	}
	t.LaneTest = t.Negated()
	t.OK = p.OnlyFrom(i, t.Succ)
	return t
}

// inStep reports whether lanes stay together around block i: it heads no loop, there is
// none behind it, whose masks there would be in the copy, too, and none that they leave one by one
// is around it.
func (p *peeler) inStep(i int) bool {
	for l := p.Blocks[i].Loop; l >= 0; l = p.Loops[l].Parent {
		if p.Loops[l].Diverges {
			return false
		}
	}
	for at := i; at < p.Blocks[i].End; at++ {
		if p.Heads(at) >= 0 {
			return false
		}
	}
	return true
}
