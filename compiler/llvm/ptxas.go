package llvm

import (
	llir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/ptxas"
)

// The rows of this file keep NVIDIA's assembler from what it gets wrong; package ptxas
// says what that is. LLVM rewrites arithmetic before it writes PTX, so what has to be
// read as it is stands in assembly. Tests that run the code elsewhere have functions for
// these texts.
var (
	asmWrap       = assembly{types.I32, "cvt.s32.s16 $0, $1;", "=r,r"}
	asmLess       = assembly{types.I32, "{ .reg .pred p; .reg .b64 a, b; cvt.u64.u32 a, $1; cvt.u64.u32 b, $2; setp.lt.u64 p, a, b; selp.u32 $0, 1, 0, p; }", "=r,r,r"}
	asmPick       = assembly{types.I32, "selp.b32 $0, $1, $2, $3;", "=r,r,r,b"}
	asmPick64     = assembly{types.I64, "selp.b64 $0, $1, $2, $3;", "=l,l,l,b"}
	asmSigned     = assembly{types.I16, "cvt.rn.f16.s32 $0, $1;", "=h,r"}
	asmUnsigned   = assembly{types.I16, "cvt.rn.f16.u32 $0, $1;", "=h,r"}
	asmSigned64   = assembly{types.I16, "cvt.rn.f16.s64 $0, $1;", "=h,l"}
	asmUnsigned64 = assembly{types.I16, "cvt.rn.f16.u64 $0, $1;", "=h,l"}
	asmSame       = assembly{types.I32, "mov.b32 $0, $1;", "=r,r"}
	asmSame64     = assembly{types.I64, "mov.b64 $0, $1;", "=l,l"}
)

// asmExtremum is the smaller or the greater of two numbers, by comparison (lt or gt) and
// selection. That of unsigned numbers compares 64 bits, of which ptxas makes no minimum.
func asmExtremum(compare, t string) assembly {
	test := "setp." + compare + ".s32 p, $1, $2;"
	if t == "u32" {
		test = ".reg .b64 a, b; cvt.u64.u32 a, $1; cvt.u64.u32 b, $2; setp." + compare + ".u64 p, a, b;"
	}
	return assembly{types.I32, "{ .reg .pred p; " + test + " selp.b32 $0, $1, $2, p; }", "=r,r,r"}
}

func computed(v *ir.Value, _ uint64, _ bool) bool    { return ptxas.Computed(v) }
func disguised(v *ir.Value, _ uint64, _ bool) bool   { return ptxas.Disguised(v) }
func isNegated(v *ir.Value, _ uint64, _ bool) bool   { return ptxas.Negated(v) }
func disjunction(v *ir.Value, _ uint64, _ bool) bool { return ptxas.Disjunction(v) }
func extremum(v *ir.Value, _ uint64, _ bool) bool    { return ptxas.Extremum(v) }

// narrow are the integers that are computed in 32 bits, sixteen those that ptxas may
// have negated and not wrapped.
var (
	narrow  = ir.KindsOf(ir.KI8, ir.KU8, ir.KI16, ir.KU16)
	sixteen = ir.KindsOf(ir.KI16)
)

// ptxasRows come before those of all instruction sets.
func ptxasRows() []row {
	out := []row{
		{op: ir.OpSelect, on: boolean, isa: nvptx, form: func(x *build) value.Value { return x.pickBool(x.b, x.c) }},
		{op: ir.OpOr, on: boolean, isa: nvptx, form: func(x *build) value.Value { return x.pickBool(nil, x.b) }},
		{op: ir.OpAnd, on: boolean, isa: nvptx, when: disjunction, form: func(x *build) value.Value { return x.pickBool(x.b, nil) }},
		{op: ir.OpAndNot, on: boolean, isa: nvptx, form: func(x *build) value.Value { return x.pickBool(x.not(x.b), nil) }},
		{op: ir.OpSelect, on: int32s, isa: nvptx, when: extremum, form: func(x *build) value.Value { return x.assemble(asmPick, x.b, x.c, x.a) }},
		{op: ir.OpSelect, on: int64s, isa: nvptx, when: extremum, form: func(x *build) value.Value { return x.assemble(asmPick64, x.b, x.c, x.a) }},
		{op: ir.OpSelect, on: narrow, isa: nvptx, when: extremum, form: func(x *build) value.Value {
			return x.NewTrunc(x.assemble(asmPick, x.widened(x.b), x.widened(x.c), x.a), x.t)
		}},

		{op: ir.OpAdd, on: sixteen, isa: nvptx, form: wrapped((*llir.Block).NewAdd)},
		{op: ir.OpSub, on: sixteen, isa: nvptx, form: wrapped((*llir.Block).NewSub)},
		{op: ir.OpMul, on: sixteen, isa: nvptx, form: wrapped((*llir.Block).NewMul)},
		{op: ir.OpNeg, on: sixteen, isa: nvptx, form: func(x *build) value.Value { return x.wrap(x.NewSub(i32(0), x.widened(x.a))) }},
		{op: ir.OpDiv, on: sixteen, isa: nvptx, when: safeDivisor, form: wrapped((*llir.Block).NewSDiv)},
		{op: ir.OpDiv, on: sixteen, isa: nvptx, form: func(x *build) value.Value {
			a, b := x.widened(x.a), x.widened(x.b)
			zero := x.icmp(enum.IPredEQ, b, i32(0))
			return x.wrap(x.NewSelect(zero, i32(0), x.NewSDiv(a, x.NewSelect(zero, i32(1), b))))
		}},
		{op: ir.OpConvert, on: sixteen, from: ir.KU16, isa: nvptx, form: wrapUnsigned},
		{op: ir.OpBitcast, on: sixteen, from: ir.KU16, isa: nvptx, form: wrapUnsigned},
		{op: ir.OpConvert, on: sixteen, from: ir.KI32, isa: nvptx, form: func(x *build) value.Value { return x.wrap(x.a) }},
		{op: ir.OpConvert, on: sixteen, from: ir.KU32, isa: nvptx, form: func(x *build) value.Value { return x.wrap(x.a) }},
		{op: ir.OpConvert, on: sixteen, from: ir.KI64, isa: nvptx, form: func(x *build) value.Value { return x.wrap(x.NewTrunc(x.a, types.I32)) }},
		{op: ir.OpConvert, on: sixteen, from: ir.KU64, isa: nvptx, form: func(x *build) value.Value { return x.wrap(x.NewTrunc(x.a, types.I32)) }},
		// By way of float32 it takes a minimum.
		{op: ir.OpConvert, on: ir.KindsOf(ir.KF16), from: ir.KI32, isa: nvptx, form: func(x *build) value.Value { return x.assemble(asmSigned, x.a) }},
		{op: ir.OpConvert, on: ir.KindsOf(ir.KF16), from: ir.KU32, isa: nvptx, form: func(x *build) value.Value { return x.assemble(asmUnsigned, x.a) }},
		{op: ir.OpConvert, on: ir.KindsOf(ir.KF16), from: ir.KI64, isa: nvptx, form: func(x *build) value.Value { return x.assemble(asmSigned64, x.a) }},
		{op: ir.OpConvert, on: ir.KindsOf(ir.KF16), from: ir.KU64, isa: nvptx, form: func(x *build) value.Value { return x.assemble(asmUnsigned64, x.a) }},
	}
	out = append(append(out, disguisedRows()...), compareRows()...)
	for _, c := range []struct {
		op      ir.Op
		on      ir.Kinds
		compare string
		t       string
	}{{ir.OpMin, signed, "lt", "s32"}, {ir.OpMin, unsigned, "lt", "u32"}, {ir.OpMax, signed, "gt", "s32"}, {ir.OpMax, unsigned, "gt", "u32"}} {
		a := asmExtremum(c.compare, c.t)
		out = append(out,
			row{op: c.op, on: int32s & c.on, isa: nvptx, when: computed, form: func(x *build) value.Value { return x.assemble(a, x.a, x.b) }},
			row{op: c.op, on: narrow & c.on, isa: nvptx, when: computed, form: func(x *build) value.Value {
				return x.NewTrunc(x.assemble(a, x.widened(x.a), x.widened(x.b)), x.t)
			}})
	}
	return out
}

// disguisedRows hide from LLVM what a negation or a magnitude is of. The smallest number
// by -1 is left undefined by LLVM; it is what a negation gives.
func disguisedRows() []row {
	negate := func(x *build) value.Value { return x.NewSub(x.number(0), x.hidden(x.a)) }
	var out []row
	for op, f := range map[ir.Op]form{
		ir.OpNeg: negate,
		ir.OpDiv: negate,
		ir.OpNot: func(x *build) value.Value { return x.not(x.hidden(x.a)) },
		ir.OpAdd: hidden((*llir.Block).NewAdd),
		ir.OpSub: hidden((*llir.Block).NewSub),
		ir.OpMul: hidden((*llir.Block).NewMul),
		ir.OpXor: hidden((*llir.Block).NewXor),
	} {
		out = append(out, row{op: op, on: ints, isa: nvptx, when: disguised, form: f})
	}
	return out
}

// compareRows compare negations without a sign in 64 bits, as [asmExtremum] does.
func compareRows() []row {
	var out []row
	for _, c := range []struct {
		op      ir.Op
		swapped bool
		than    enum.IPred // x < y, compared with 0
	}{{ir.OpLt, false, enum.IPredNE}, {ir.OpGe, false, enum.IPredEQ}, {ir.OpGt, true, enum.IPredNE}, {ir.OpLe, true, enum.IPredEQ}} {
		out = append(out, row{op: c.op, on: (int32s | narrow) & unsigned, isa: nvptx, when: isNegated, form: func(x *build) value.Value {
			a, b := x.a, x.b
			if c.swapped {
				a, b = b, a
			}
			return x.icmp(c.than, x.assemble(asmLess, x.widened(a), x.widened(b)), i32(0))
		}})
	}
	return out
}

// pickBool is p if a, else q, in 32 bits: p is true and q false where they are nil.
func (x *build) pickBool(p, q value.Value) value.Value {
	one, other := value.Value(i32(1)), value.Value(i32(0))
	if p != nil {
		one = x.NewZExt(p, types.I32)
	}
	if q != nil {
		other = x.NewZExt(q, types.I32)
	}
	return x.icmp(enum.IPredNE, x.assemble(asmPick, one, other, x.a), i32(0))
}

// widened is an integer of the operation's kind in 32 bits.
func (x *build) widened(p value.Value) value.Value {
	if p.Type() == types.I32 {
		return p
	}
	return x.extend(x.k, p, types.I32)
}

// hidden is p, which LLVM does not know.
func (x *build) hidden(p value.Value) value.Value {
	if p.Type() == types.I64 {
		return x.assemble(asmSame64, p)
	}
	same := x.assemble(asmSame, x.wordOf(p))
	if x.t == types.I32 {
		return same
	}
	return x.NewTrunc(same, x.t)
}

// wordOf is an integer with zeros before it in 32 bits.
func (x *build) wordOf(p value.Value) value.Value {
	if p.Type() == types.I32 {
		return p
	}
	return x.NewZExt(p, types.I32)
}

func hidden[I value.Value](f func(b *llir.Block, x, y value.Value) I) form {
	return func(x *build) value.Value {
		a := x.hidden(x.a)
		return f(x.Block, a, x.hidden(x.b))
	}
}

// wrap takes the low 16 bits of p for the result.
func (x *build) wrap(p value.Value) value.Value {
	return x.NewTrunc(x.assemble(asmWrap, p), types.I16)
}

func wrapped[I value.Value](f func(b *llir.Block, x, y value.Value) I) form {
	return func(x *build) value.Value {
		a := x.widened(x.a)
		return x.wrap(f(x.Block, a, x.widened(x.b)))
	}
}

func wrapUnsigned(x *build) value.Value { return x.wrap(x.NewZExt(x.a, types.I32)) }
