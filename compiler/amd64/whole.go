package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// findFull marks the blocks that run with all lanes: those behind a test that all
// are there, as long as none parts from the others.
func (e *emitter) findFull() {
	e.full = make([]bool, len(e.blocks))
	for i := range e.blocks {
		b := &e.blocks[i]
		if b.idom < 0 {
			continue
		}
		d := &e.blocks[b.idom]
		if d.class != b.class {
			// A joined block has the lanes of one further up.
			for at := b.idom; at >= 0 && !e.full[i]; at = e.blocks[at].idom {
				e.full[i] = e.full[at] && e.blocks[at].class == b.class
			}
			continue
		}
		e.full[i] = e.full[d.at] || len(b.in) == 1 && e.isTest(d.b) && d.b.Term.Succs[0].To == b.b
	}
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
func (e *emitter) active(b *block) asm.Reg {
	if e.full[b.at] {
		return 0
	}
	return e.masks[b.class]
}

// jumpUnlessWhole jumps unless all lanes are on and pass a test: unless the last one
// passes.
func (e *emitter) jumpUnlessWhole(b *block, t wholeTest, to label) {
	if s := e.of(t.i); s.kind != affine || s.step != 1 || e.of(t.n).kind != uniform {
		e.jump(to) // the copy did not keep what the test needs
		e.bind(e.newLabel())
		return
	}
	if !e.full[b.at] {
		m := e.masks[b.class]
		if e.isa == v3 {
			e.bits(asm.RAX, m)
			e.op(asm.CMP, 32, asm.R(asm.RAX), asm.I(0xff))
			e.jcc(asm.CondNE, to)
		} else {
			e.op(asm.KORTESTW, 16, asm.R(m), asm.R(m))
			e.jcc(asm.CondAE, to) // carry is set when all are
		}
	}
	e.op(asm.LEA, 64, asm.R(asm.RAX), asm.M(e.general64(t.i), int32(e.isa.lanes()-1)))
	e.op(asm.CMP, 64, asm.R(asm.RAX), e.source64(t.n))
	if t.equal {
		e.jcc(asm.CondG, to)
	} else {
		e.jcc(asm.CondGE, to)
	}
}
