package lower

import (
	"math"

	"github.com/gokiln/kiln/compiler/ir"
)

func (f *funcLower) one(v val, t *ir.Type) *ir.Value {
	if v.v != nil {
		return v.v
	}
	if t == nil {
		t = ir.I64
	}
	return f.konst(t, 0)
}

// emit appends an instruction at the current position.
func (f *funcLower) emit(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
	return f.emitImm(op, t, 0, args...)
}

func (f *funcLower) emitImm(op ir.Op, t *ir.Type, imm uint64, args ...*ir.Value) *ir.Value {
	v := f.out.NewValue(op, t, args...)
	v.Imm = imm
	v.Pos = f.l.position(f.at)
	return f.blk.Append(v)
}

// konst returns a constant; each block has its own, once.
func (f *funcLower) konst(t *ir.Type, bits uint64) *ir.Value {
	key := constKey{t, ir.Normalize(t, bits)}
	if v := f.consts[key]; v != nil {
		return v
	}
	v := f.blk.EmitConst(f.out, t, bits)
	f.consts[key] = v
	return v
}

func (f *funcLower) int(n int64) *ir.Value { return f.konst(ir.I64, uint64(n)) }

func (f *funcLower) float(x float64) *ir.Value { return f.konst(ir.F64, math.Float64bits(x)) }

// local makes an object in the entry block.
func (f *funcLower) local(t *ir.Type) *ir.Value {
	v := f.out.NewValue(ir.OpLocal, ir.PtrTo(ir.Local, t))
	v.Pos = f.l.position(f.at)
	return f.out.Blocks[0].Append(v)
}
