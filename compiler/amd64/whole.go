package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// findFull marks the blocks that run with all lanes: those behind a test that all
// are there, as long as none parts from the others. All blocks are, from the entry on, of
// kernels that are launched with whole warps alone, as those with warp operations are: the
// rows or the threads that make vectors are whole then.
func (e *emitter) findFull(wholeWarps bool) {
	e.full = make([]bool, len(e.Blocks))
	e.full[0] = wholeWarps
	for i := range e.Blocks {
		b := &e.Blocks[i]
		if b.Idom < 0 {
			continue
		}
		d := &e.Blocks[b.Idom]
		if d.Class != b.Class {
			// A joined block has the lanes of one further up.
			for at := b.Idom; at >= 0 && !e.full[i]; at = e.Blocks[at].Idom {
				e.full[i] = e.full[at] && e.Blocks[at].Class == b.Class
			}
			continue
		}
		e.full[i] = e.full[d.At] || len(b.In) == 1 && wholeBehind(d.Block) && d.Block.Term.Succs[0].To == b.Block
	}
}

// wholeBehind reports whether b ends with a test that no lane is off behind.
func wholeBehind(b *ir.Block) bool {
	test := analysis.EndsInWhole(b)
	return test != nil && test.Imm != ir.OffLanes
}

// active returns the mask for the memory that a block accesses: none if all lanes
// are on.
func (e *emitter) active(b *analysis.Placed) asm.Reg {
	if e.full[b.At] {
		return 0
	}
	return e.masks[b.Class]
}

// jumpUnlessWhole jumps unless the comparisons of a test hold in all lanes, and those are on if
// the test wants that.
func (e *emitter) jumpUnlessWhole(b *analysis.Placed, test *ir.Value, to label) {
	for _, c := range test.Args {
		if s := e.Of(c.Args[0]); s.Kind != analysis.AffineLanes || s.Step < 0 || e.Of(c.Args[1]).Kind != analysis.UniformLanes {
			e.jump(to) // the copy did not keep what the test needs
			e.bind(e.newLabel())
			return
		}
	}
	if !e.full[b.At] && test.Imm != ir.OffLanes {
		m := e.masks[b.Class]
		if e.isa == v3 {
			e.bits(asm.RAX, m)
			e.op(asm.CMP, 32, asm.R(asm.RAX), asm.I(0xff))
			e.jcc(asm.CondNE, to)
		} else {
			e.op(asm.KORTESTW, 16, asm.R(m), asm.R(m))
			e.jcc(asm.CondAE, to) // carry is set when all are
		}
	}
	for _, c := range test.Args {
		e.jumpUnlessWithin(c.Op, c.Args[0], c.Args[1], c.Imm&ir.FarX == 0, to)
	}
}

// jumpUnlessWithin jumps unless a comparison of x, which goes up from lane to lane, with n holds
// in all of them: unless it does in the lane that is next to n.
func (e *emitter) jumpUnlessWithin(op ir.Op, x, n *ir.Value, wraps bool, to label) {
	last := e.Of(x).Step * int64(e.isa.lanes()-1)
	outside := asm.CondL
	switch {
	case op == ir.OpGe || op == ir.OpGt:
		if wraps {
			e.op(asm.MOV, 64, asm.R(asm.RAX), asm.R(e.general64(x)))
			e.op(asm.ADD, 64, asm.R(asm.RAX), asm.I(last))
			e.jcc(asm.CondO, to)
		}
		if op == ir.OpGt {
			outside = asm.CondLE
		}
		e.compare64(x, n)
	case wraps: // decided by the distance to the bound, if that is a number
		e.op(asm.MOV, 64, asm.R(asm.RAX), e.source64(n))
		e.op(asm.SUB, 64, asm.R(asm.RAX), asm.R(e.general64(x)))
		e.jcc(asm.CondO, to)
		e.op(asm.CMP, 64, asm.R(asm.RAX), asm.I(last))
		if op == ir.OpLt {
			outside = asm.CondLE
		}
	default:
		e.op(asm.LEA, 64, asm.R(asm.RAX), asm.M(e.general64(x), int32(last)))
		e.op(asm.CMP, 64, asm.R(asm.RAX), e.source64(n))
		if outside = asm.CondG; op == ir.OpLt {
			outside = asm.CondGE
		}
	}
	e.jcc(outside, to)
}
