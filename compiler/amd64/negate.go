package amd64

import "github.com/gokiln/kiln/compiler/ir"

// findNegated marks the negations of floats of which only multiply-adds make use:
// there are instructions for these with negated operands.
func (e *emitter) findNegated() {
	e.negated = make([]bool, len(e.Shapes))
	for i := range e.Blocks {
		for _, v := range e.Blocks[i].Block.Instrs {
			e.negated[v.ID] = v.Op == ir.OpNeg && v.Type.IsFloat()
		}
	}
	keep := func(list []*ir.Value) {
		for _, x := range list {
			e.negated[x.ID] = false
		}
	}
	for i := range e.Blocks {
		b := e.Blocks[i].Block
		for _, v := range b.Instrs {
			if v.Op != ir.OpFMA {
				keep(v.Args)
			}
		}
		keep(b.Term.Args)
		for _, s := range b.Term.Succs {
			keep(s.Args)
		}
	}
}

// withoutNegations returns a multiply-add with the negations of its operands in Imm
// instead.
func (e *emitter) withoutNegations(v *ir.Value) *ir.Value {
	w := *v
	w.Args = append([]*ir.Value{}, v.Args...)
	for i, sign := range []uint64{negProduct, negProduct, negSum} {
		if x := v.Args[i]; e.negated[x.ID] {
			w.Args[i] = x.Args[0]
			w.Imm ^= sign
		}
	}
	return &w
}
