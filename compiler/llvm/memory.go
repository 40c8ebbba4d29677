package llvm

import (
	llir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/gokiln/kiln/compiler/ir"
)

// memoryRows has loads, stores and atomics. Atomics have the scope and order of the
// operation; floats are exchanged and compared as patterns.
func memoryRows() []row {
	whole := int32s | int64s
	out := []row{
		{op: ir.OpLoad, on: scalars&^boolean | pointers, isa: all, form: func(x *build) value.Value { return x.read(x.t) }},
		{op: ir.OpLoad, on: boolean, isa: all, form: func(x *build) value.Value { return x.icmp(enum.IPredNE, x.read(types.I8), i8(0)) }},
		{op: ir.OpStore, on: scalars&^boolean | pointers, isa: all, form: func(x *build) value.Value {
			x.store(x.b, x.a, x.align())
			return nil
		}},
		{op: ir.OpStore, on: boolean, isa: all, form: func(x *build) value.Value {
			x.store(x.NewZExt(x.b, types.I8), x.a, 1)
			return nil
		}},
		{op: ir.OpAtomicAdd, on: floats, isa: all, form: updating(enum.AtomicOpFAdd)},
		{op: ir.OpAtomicAdd, on: halves, isa: all, form: addHalf},
		{op: ir.OpAtomicMin, on: whole & signed, isa: all, form: updating(enum.AtomicOpMin)},
		{op: ir.OpAtomicMax, on: whole & signed, isa: all, form: updating(enum.AtomicOpMax)},
		{op: ir.OpAtomicMin, on: whole & unsigned, isa: all, form: updating(enum.AtomicOpUMin)},
		{op: ir.OpAtomicMax, on: whole & unsigned, isa: all, form: updating(enum.AtomicOpUMax)},
		{op: ir.OpAtomicExch, on: whole | floats, isa: all, form: func(x *build) value.Value {
			return x.cast(x.update(enum.AtomicOpXChg, x.bits(x.b)), x.t)
		}},
		{op: ir.OpAtomicCAS, on: ints | floats, isa: all, form: func(x *build) value.Value {
			return x.cast(x.NewExtractValue(x.exchange(x.bits(x.b), x.bits(x.c)), 0), x.t)
		}},
		{op: ir.OpAtomicLoad, on: ints | floats, isa: all, form: func(x *build) value.Value { return x.cast(x.atomicLoad(), x.t) }},
		{op: ir.OpAtomicStore, on: ints | floats, isa: all, form: func(x *build) value.Value {
			i := x.store(x.bits(x.b), x.a, x.align())
			i.Atomic, i.SyncScope, i.Ordering = true, x.scope, x.order
			return nil
		}},
	}
	for _, u := range []struct {
		op ir.Op
		by enum.AtomicOp
	}{{ir.OpAtomicAdd, enum.AtomicOpAdd}, {ir.OpAtomicAnd, enum.AtomicOpAnd}, {ir.OpAtomicOr, enum.AtomicOpOr}, {ir.OpAtomicXor, enum.AtomicOpXor}} {
		out = append(out, row{op: u.op, on: whole, isa: all, form: updating(u.by)})
	}
	return out
}

// align is the alignment of what the operation reads or writes.
func (x *build) align() int { return selecting(x.v).Size() }

// read loads from a. What a kernel reads of shared and local memory before it was
// written may be anything, but it must be something: without freeze, LLVM could take a
// branch on it for one that never happens.
func (x *build) read(t types.Type) value.Value {
	i := x.load(t, x.a, x.align())
	if s := x.v.Args[0].Type.Space; s == ir.Shared || s == ir.Local {
		return x.freeze(i)
	}
	return i
}

// bitsType is the integer type of the width of the operation's.
func (x *build) bitsType() types.Type { return integer(8 * x.align()) }

// bits is a float as a pattern.
func (x *build) bits(p value.Value) value.Value {
	if !floats.Has(x.k) {
		return p
	}
	return x.NewBitCast(p, x.bitsType())
}

// update updates what a points to and returns what was there. It and the others leave
// out the alignment, which the library has no field for: it is that of the type.
func (x *build) update(by enum.AtomicOp, p value.Value) value.Value {
	i := &llir.InstAtomicRMW{Op: by, Dst: x.a, X: p, Ordering: x.order, Typ: p.Type(), SyncScope: x.scope}
	x.append(i)
	return i
}

func updating(by enum.AtomicOp) form {
	return func(x *build) value.Value { return x.update(by, x.b) }
}

// exchange returns what a pointed to, which becomes p if it was old, and whether it was.
func (x *build) exchange(old, p value.Value) value.Value {
	i := x.NewCmpXchg(x.a, old, p, x.order, x.seen)
	i.SyncScope = x.scope
	return i
}

// atomicLoad reads a pattern.
func (x *build) atomicLoad() value.Value {
	i := x.load(x.bitsType(), x.a, x.align())
	i.Atomic, i.SyncScope, i.Ordering = true, x.scope, x.order
	return i
}

// addHalf adds to a half in memory by exchanging it until nobody came between.
func addHalf(x *build) value.Value {
	add := x.toFloat32(x.b, x.k)
	first, before := x.atomicLoad(), x.Block
	loop, done := x.newLabel(), x.newLabel()
	x.NewBr(loop)
	x.place(loop)
	old := x.phi(types.I16)
	sum := x.fromFloat32(x.NewFAdd(x.toFloat32(old, x.k), add), x.k)
	pair := x.exchange(old, sum)
	old.Incs = []*llir.Incoming{llir.NewIncoming(first, before), llir.NewIncoming(x.NewExtractValue(pair, 0), loop)}
	x.NewCondBr(x.NewExtractValue(pair, 1), done, loop)
	x.place(done)
	return old
}
