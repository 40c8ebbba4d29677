package llvm

import (
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/ptxas"
)

// The rows of this file keep NVIDIA's assembler from what it gets wrong; package ptxas
// says what that is. LLVM rewrites arithmetic before it writes PTX, so what has to be
// read as it is stands in asm, in which \24 is the sign for an operand and \3B ends an
// instruction. Tests that run the code elsewhere have functions for these texts.
const (
	asmWrap       = `asm "cvt.s32.s16 \240, \241\3B", "=r,r"`
	asmLess       = `asm "{ .reg .pred p\3B .reg .b64 a, b\3B cvt.u64.u32 a, \241\3B cvt.u64.u32 b, \242\3B setp.lt.u64 p, a, b\3B selp.u32 \240, 1, 0, p\3B }", "=r,r,r"`
	asmPick       = `asm "selp.b32 \240, \241, \242, \243\3B", "=r,r,r,b"`
	asmSigned     = `asm "cvt.rn.f16.s32 \240, \241\3B", "=h,r"`
	asmUnsigned   = `asm "cvt.rn.f16.u32 \240, \241\3B", "=h,r"`
	asmSigned64   = `asm "cvt.rn.f16.s64 \240, \241\3B", "=h,l"`
	asmUnsigned64 = `asm "cvt.rn.f16.u64 \240, \241\3B", "=h,l"`
	asmPick64     = `asm "selp.b64 \240, \241, \242, \243\3B", "=l,l,l,b"`
	asmSame       = `asm "mov.b32 \240, \241\3B", "=r,r"`
	asmSame64     = `asm "mov.b64 \240, \241\3B", "=l,l"`
)

// asmExtremum is the smaller or the greater of two numbers, by comparison (lt or gt) and
// selection. That of unsigned numbers compares 64 bits, of which ptxas makes no minimum.
func asmExtremum(compare, t string) string {
	test := `setp.` + compare + `.s32 p, \241, \242\3B`
	if t == "u32" {
		test = `.reg .b64 a, b\3B cvt.u64.u32 a, \241\3B cvt.u64.u32 b, \242\3B setp.` + compare + `.u64 p, a, b\3B`
	}
	return `asm "{ .reg .pred p\3B ` + test + ` selp.b32 \240, \241, \242, p\3B }", "=r,r,r"`
}

func computed(v *ir.Value, _ uint64, _ bool) bool    { return ptxas.Computed(v) }
func disguised(v *ir.Value, _ uint64, _ bool) bool   { return ptxas.Disguised(v) }
func isNegated(v *ir.Value, _ uint64, _ bool) bool   { return ptxas.Negated(v) }
func disjunction(v *ir.Value, _ uint64, _ bool) bool { return ptxas.Disjunction(v) }
func extremum(v *ir.Value, _ uint64, _ bool) bool    { return ptxas.Extremum(v) }

// narrow are the integers that are computed in 32 bits, sixteen those that ptxas may
// have negated and not wrapped.
var (
	narrow  = of(ir.KI8, ir.KU8, ir.KI16, ir.KU16)
	sixteen = of(ir.KI16)
)

// ptxasRows come before those of all instruction sets.
func ptxasRows() []row {
	out := []row{
		{op: ir.OpSelect, on: boolean, isa: nvptx,
			asm: "$0 = zext i1 $b to i32; $1 = zext i1 $c to i32; $2 = call i32 " + asmPick + "(i32 $0, i32 $1, i1 $a); $d = icmp ne i32 $2, 0"},
		{op: ir.OpOr, on: boolean, isa: nvptx, asm: "$0 = zext i1 $b to i32; $1 = call i32 " + asmPick + "(i32 1, i32 $0, i1 $a); $d = icmp ne i32 $1, 0"},
		{op: ir.OpAnd, on: boolean, isa: nvptx, when: disjunction,
			asm: "$0 = zext i1 $b to i32; $1 = call i32 " + asmPick + "(i32 $0, i32 0, i1 $a); $d = icmp ne i32 $1, 0"},
		{op: ir.OpAndNot, on: boolean, isa: nvptx,
			asm: "$2 = xor i1 $b, true; $0 = zext i1 $2 to i32; $1 = call i32 " + asmPick + "(i32 $0, i32 0, i1 $a); $d = icmp ne i32 $1, 0"},
		{op: ir.OpSelect, on: int32s, isa: nvptx, when: extremum, asm: "$d = call i32 " + asmPick + "(i32 $b, i32 $c, i1 $a)"},
		{op: ir.OpSelect, on: int64s, isa: nvptx, when: extremum, asm: "$d = call i64 " + asmPick64 + "(i64 $b, i64 $c, i1 $a)"},
		{op: ir.OpSelect, on: narrow, isa: nvptx, when: extremum,
			asm: "$0 = {ext} {t} $b to i32; $1 = {ext} {t} $c to i32; $2 = call i32 " + asmPick + "(i32 $0, i32 $1, i1 $a); $d = trunc i32 $2 to {t}"},

		{op: ir.OpAdd, on: sixteen, isa: nvptx, asm: both + "$2 = add i32 $0, $1; " + wrap("$2")},
		{op: ir.OpSub, on: sixteen, isa: nvptx, asm: both + "$2 = sub i32 $0, $1; " + wrap("$2")},
		{op: ir.OpMul, on: sixteen, isa: nvptx, asm: both + "$2 = mul i32 $0, $1; " + wrap("$2")},
		{op: ir.OpNeg, on: sixteen, isa: nvptx, asm: "$0 = sext i16 $a to i32; $2 = sub i32 0, $0; " + wrap("$2")},
		{op: ir.OpDiv, on: sixteen, isa: nvptx, when: safeDivisor, asm: both + "$2 = sdiv i32 $0, $1; " + wrap("$2")},
		{op: ir.OpDiv, on: sixteen, isa: nvptx,
			asm: both + "$3 = icmp eq i32 $1, 0; $4 = select i1 $3, i32 1, i32 $1; $5 = sdiv i32 $0, $4; $2 = select i1 $3, i32 0, i32 $5; " + wrap("$2")},
		{op: ir.OpConvert, on: sixteen, sub: fromSub + int(ir.KU16), isa: nvptx, asm: "$2 = zext i16 $a to i32; " + wrap("$2")},
		{op: ir.OpBitcast, on: sixteen, sub: fromSub + int(ir.KU16), isa: nvptx, asm: "$2 = zext i16 $a to i32; " + wrap("$2")},
		// By way of float32 it takes a minimum.
		{op: ir.OpConvert, on: of(ir.KF16), sub: fromSub + int(ir.KI32), isa: nvptx, asm: "$d = call i16 " + asmSigned + "(i32 $a)"},
		{op: ir.OpConvert, on: of(ir.KF16), sub: fromSub + int(ir.KU32), isa: nvptx, asm: "$d = call i16 " + asmUnsigned + "(i32 $a)"},
		{op: ir.OpConvert, on: of(ir.KF16), sub: fromSub + int(ir.KI64), isa: nvptx, asm: "$d = call i16 " + asmSigned64 + "(i64 $a)"},
		{op: ir.OpConvert, on: of(ir.KF16), sub: fromSub + int(ir.KU64), isa: nvptx, asm: "$d = call i16 " + asmUnsigned64 + "(i64 $a)"},
	}
	out = append(append(out, disguisedRows()...), compareRows()...)
	for _, from := range []ir.Kind{ir.KI32, ir.KU32} {
		out = append(out, row{op: ir.OpConvert, on: sixteen, sub: fromSub + int(from), isa: nvptx, asm: wrap("$a")})
	}
	for _, from := range []ir.Kind{ir.KI64, ir.KU64} {
		out = append(out, row{op: ir.OpConvert, on: sixteen, sub: fromSub + int(from), isa: nvptx, asm: "$2 = trunc i64 $a to i32; " + wrap("$2")})
	}
	for _, c := range []struct {
		op      ir.Op
		on      kinds
		compare string
		t       string
	}{{ir.OpMin, signed, "lt", "s32"}, {ir.OpMin, unsigned, "lt", "u32"}, {ir.OpMax, signed, "gt", "s32"}, {ir.OpMax, unsigned, "gt", "u32"}} {
		call := "call i32 " + asmExtremum(c.compare, c.t)
		out = append(out,
			row{op: c.op, on: int32s & c.on, isa: nvptx, when: computed, asm: "$d = " + call + "(i32 $a, i32 $b)"},
			row{op: c.op, on: narrow & c.on, isa: nvptx, when: computed,
				asm: "$0 = {ext} {t} $a to i32; $1 = {ext} {t} $b to i32; $2 = " + call + "(i32 $0, i32 $1); $d = trunc i32 $2 to {t}"})
	}
	return out
}

// disguisedRows hide from LLVM what a negation or a magnitude is of. The smallest number
// by -1 is left undefined by LLVM; it is what a negation gives.
func disguisedRows() []row {
	var out []row
	for _, o := range []struct {
		op   ir.Op
		x, y string
		text string
	}{
		{ir.OpNeg, "$a", "", "sub {t} 0, $1"},
		{ir.OpDiv, "$a", "", "sub {t} 0, $1"},
		{ir.OpNot, "$a", "", "xor {t} $1, {ones}"},
		{ir.OpAdd, "$a", "$b", "add {t} $1, $2"},
		{ir.OpSub, "$a", "$b", "sub {t} $1, $2"},
		{ir.OpMul, "$a", "$b", "mul {t} $1, $2"},
		{ir.OpXor, "$a", "$b", "xor {t} $1, $2"},
	} {
		for _, on := range []kinds{int32s, int64s, narrow} {
			asm := hidden("$1", o.x, on)
			if o.y != "" {
				asm += hidden("$2", o.y, on)
			}
			out = append(out, row{op: o.op, on: on, isa: nvptx, when: disguised, asm: asm + "$d = " + o.text})
		}
	}
	return out
}

// compareRows compare negations without a sign in 64 bits, as [asmExtremum] does.
func compareRows() []row {
	var out []row
	for _, c := range []struct {
		op         ir.Op
		x, y, than string // x < y, compared with 0
	}{{ir.OpLt, "$a", "$b", "ne"}, {ir.OpGe, "$a", "$b", "eq"}, {ir.OpGt, "$b", "$a", "ne"}, {ir.OpLe, "$b", "$a", "eq"}} {
		result := "; $d = icmp " + c.than + " i32 $2, 0"
		out = append(out,
			row{op: c.op, on: int32s & unsigned, isa: nvptx, when: isNegated, asm: "$2 = call i32 " + asmLess + "(i32 " + c.x + ", i32 " + c.y + ")" + result},
			row{op: c.op, on: narrow & unsigned, isa: nvptx, when: isNegated,
				asm: "$0 = zext {t} " + c.x + " to i32; $1 = zext {t} " + c.y + " to i32; $2 = call i32 " + asmLess + "(i32 $0, i32 $1)" + result})
	}
	return out
}

// hidden makes to a number that is x, which LLVM does not know. It has temporaries of its
// own, next to to.
func hidden(to, x string, on kinds) string {
	switch on {
	case int32s:
		return to + " = call i32 " + asmSame + "(i32 " + x + "); "
	case int64s:
		return to + " = call i64 " + asmSame64 + "(i64 " + x + "); "
	}
	return to + "1 = zext {t} " + x + " to i32; " + to + "2 = call i32 " + asmSame + "(i32 " + to + "1); " + to + " = trunc i32 " + to + "2 to {t}; "
}

// both leads to the operands in 32 bits, in $0 and $1.
const both = "$0 = sext i16 $a to i32; $1 = sext i16 $b to i32; "

// wrap takes the low 16 bits of x for the result.
func wrap(x string) string {
	return "$9 = call i32 " + asmWrap + "(i32 " + x + "); $d = trunc i32 $9 to i16"
}
