package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// casloop makes a loop around compare-and-swap of each atomic update of 8 or 16 bits
// where the target has no other of that width: it computes the new value from the one
// that was seen last, until nobody came between. The order is that of the exchange
// that succeeds.
func casloop(m *ir.Module, opt *Options) error {
	if !opt.CASLoops {
		return nil
	}
	for _, f := range m.Funcs {
		repl := newReplacer(f)
		for _, b := range slices.Clone(f.Blocks) {
			if slices.ContainsFunc(b.Instrs, narrowUpdate) {
				updateByLoops(f, b, repl)
			}
		}
		repl.apply(f)
	}
	return nil
}

// updated has the operation that gives the new value of an atomic update.
var updated = map[ir.Op]ir.Op{
	ir.OpAtomicAdd: ir.OpAdd, ir.OpAtomicMin: ir.OpMin, ir.OpAtomicMax: ir.OpMax, ir.OpAtomicAnd: ir.OpAnd,
	ir.OpAtomicOr: ir.OpOr, ir.OpAtomicXor: ir.OpXor, ir.OpAtomicExch: ir.OpInvalid,
}

func narrowUpdate(v *ir.Value) bool { return ir.NarrowUpdate(v.Op, v.Type) }

// updateByLoops splits b at its updates.
func updateByLoops(f *ir.Func, b *ir.Block, repl *replacer) {
	instrs, term := b.Instrs, b.Term
	b.Instrs = make([]*ir.Value, 0, len(instrs))
	at := b
	for _, v := range instrs {
		if !narrowUpdate(v) {
			at.Append(v)
			continue
		}
		at = updateByLoop(f, at, v, repl)
	}
	at.Term = term
}

// updateByLoop writes the loop of v at the end of b, and returns the block after it.
func updateByLoop(f *ir.Func, b *ir.Block, v *ir.Value, repl *replacer) *ir.Block {
	p, x := v.Args[0], v.Args[1]
	loop, next := f.NewBlock(), f.NewBlock()
	emit := func(at *ir.Block, op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
		w := at.Emit(f, op, t, args...)
		w.Pos = v.Pos
		return w
	}
	first := emit(b, ir.OpAtomicLoad, v.Type, p)
	first.Imm = ir.AtomicImm(ir.Relaxed, v.Scope())
	b.Jump(loop, first)
	seen := loop.NewParam(f, v.Type)
	seen.Pos = v.Pos
	sum := x
	if op := updated[v.Op]; op != ir.OpInvalid {
		sum = emit(loop, op, v.Type, seen, x)
	}
	found := emit(loop, ir.OpAtomicCAS, v.Type, p, seen, sum)
	found.Imm = v.Imm
	loop.Branch(emit(loop, ir.OpEq, ir.Bool, found, seen), next, loop)
	loop.Term.Succs[1].Args = []*ir.Value{found}
	loop.Term.Pos = v.Pos
	repl.set(v, found)
	return next
}
