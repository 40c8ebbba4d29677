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
	asmWrap     = `asm "cvt.s32.s16 \240, \241\3B", "=r,r"`
	asmPick     = `asm "selp.b32 \240, \241, \242, \243\3B", "=r,r,r,b"`
	asmSigned   = `asm "cvt.rn.f16.s32 \240, \241\3B", "=h,r"`
	asmUnsigned = `asm "cvt.rn.f16.u32 \240, \241\3B", "=h,r"`
)

// asmExtremum is the smaller or the greater of two numbers, by comparison (lt or gt) and
// selection.
func asmExtremum(compare, t string) string {
	return `asm "{ .reg .pred p\3B setp.` + compare + `.` + t + ` p, \241, \242\3B selp.b32 \240, \241, \242, p\3B }", "=r,r,r"`
}

func computed(v *ir.Value, _ uint64, _ bool) bool { return ptxas.Computed(v) }
func extremum(v *ir.Value, _ uint64, _ bool) bool { return ptxas.Extremum(v) }

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
		{op: ir.OpSelect, on: int32s, isa: nvptx, when: extremum, asm: "$d = call i32 " + asmPick + "(i32 $b, i32 $c, i1 $a)"},
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
	}
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

// both leads to the operands in 32 bits, in $0 and $1.
const both = "$0 = sext i16 $a to i32; $1 = sext i16 $b to i32; "

// wrap takes the low 16 bits of x for the result.
func wrap(x string) string {
	return "$9 = call i32 " + asmWrap + "(i32 " + x + "); $d = trunc i32 $9 to i16"
}
