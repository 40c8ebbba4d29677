package pass

import "github.com/gokiln/kiln/compiler/ir"

// rewriter writes the instructions of a block anew.
type rewriter struct {
	f   *ir.Func
	b   *ir.Block
	out []*ir.Value // instructions of b so far
}

// emit inserts a new instruction in front of the current one.
func (r *rewriter) emit(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
	v := r.f.NewValue(op, t, args...)
	v.Block = r.b
	r.out = append(r.out, v)
	return v
}

// constant inserts a constant of a type, of which bits may be more than it has.
func (r *rewriter) constant(t *ir.Type, bits uint64) *ir.Value {
	v := r.emit(ir.OpConst, t)
	v.Imm = ir.Normalize(t, bits)
	return v
}
