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
		e.full[i] = e.full[d.At] || len(b.In) == 1 && e.wholeBehind(d.Block) && d.Block.Term.Succs[0].To == b.Block
	}
}

// wholeBehind reports whether b ends with a test that no lane is off behind.
func (e *emitter) wholeBehind(b *ir.Block) bool {
	if !e.isTest(b) {
		return false
	}
	t := e.tests[b.Term.Args[0]]
	return !t.none() && !t.partial()
}

func (e *emitter) isTest(b *ir.Block) bool {
	if b.Term.Kind != ir.TermBranch {
		return false
	}
	_, is := e.tests[b.Term.Args[0]]
	return is
}

// active returns the mask for the memory that a block accesses: none if all lanes
// are on.
func (e *emitter) active(b *analysis.Placed) asm.Reg {
	if e.full[b.At] {
		return 0
	}
	return e.masks[b.Class]
}

// jumpUnlessWhole jumps unless all lanes are on and the integers of a test are within
// their bounds in all of them.
func (e *emitter) jumpUnlessWhole(b *analysis.Placed, v *ir.Value, to label) {
	test := e.tests[v]
	for k := range test {
		if s := e.Of(v.Args[2*k]); s.Kind != analysis.AffineLanes || s.Step < 0 || e.Of(v.Args[2*k+1]).Kind != analysis.UniformLanes {
			e.jump(to) // the copy did not keep what the test needs
			e.bind(e.newLabel())
			return
		}
	}
	if test.none() {
		e.jumpUnlessPast(test[0], v.Args[0], v.Args[1], to)
		return
	}
	if !e.full[b.At] && !test.partial() {
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
	for k, t := range test {
		e.jumpUnlessWithin(t, v.Args[2*k], v.Args[2*k+1], to)
	}
}

// jumpUnlessWithin jumps unless x, which goes up from lane to lane, is within a bound
// in all of them: unless the lane that is next to it is.
func (e *emitter) jumpUnlessWithin(t bound, x, n *ir.Value, to label) {
	last := e.Of(x).Step * int64(e.isa.lanes()-1)
	outside := asm.CondL
	switch {
	case t.rel >= atLeast:
		if t.wraps {
			e.op(asm.MOV, 64, asm.R(asm.RAX), asm.R(e.general64(x)))
			e.op(asm.ADD, 64, asm.R(asm.RAX), asm.I(last))
			e.jcc(asm.CondO, to)
		}
		if outside = asm.CondL; t.rel == above {
			outside = asm.CondLE
		}
		e.compare64(x, n)
		e.jcc(outside, to)
		return
	case t.wraps: // how far the bound is away tells, if that is a number
		e.op(asm.MOV, 64, asm.R(asm.RAX), e.source64(n))
		e.op(asm.SUB, 64, asm.R(asm.RAX), asm.R(e.general64(x)))
		e.jcc(asm.CondO, to)
		e.op(asm.CMP, 64, asm.R(asm.RAX), asm.I(last))
		if t.rel == below {
			outside = asm.CondLE
		}
	default:
		e.op(asm.LEA, 64, asm.R(asm.RAX), asm.M(e.general64(x), int32(last)))
		e.op(asm.CMP, 64, asm.R(asm.RAX), e.source64(n))
		if outside = asm.CondG; t.rel == below {
			outside = asm.CondGE
		}
	}
	e.jcc(outside, to)
}

// jumpUnlessPast jumps unless x, which goes up from lane to lane, is beyond a bound in all
// of them: unless it is in the first, of which the others go up.
func (e *emitter) jumpUnlessPast(t bound, x, n *ir.Value, to label) {
	if t.wraps {
		e.op(asm.MOV, 64, asm.R(asm.RAX), asm.R(e.general64(x)))
		e.op(asm.ADD, 64, asm.R(asm.RAX), asm.I(e.Of(x).Step*int64(e.isa.lanes()-1)))
		e.jcc(asm.CondO, to)
	}
	e.compare64(x, n)
	within := asm.CondL
	if t.rel == upTo {
		within = asm.CondLE
	}
	e.jcc(within, to)
}
