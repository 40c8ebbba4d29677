package llvm

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/compiler/ir"
)

// row says how an operation is written for some kinds of type and dialects. Rows
// of an operation are tried in order; the first that applies is taken.
//
// asm is LLVM IR with placeholders. $d is the result; $a, $b, $c are the operands
// without their types; $0, $1 and so on are temporaries. $L0 is a label, placed by
// $L0: alone, and $P the label of the block that the first instruction is in.
// Words in braces depend on the kind and the dialect, see [dialect.spell].
type row struct {
	op   ir.Op
	on   kinds
	sub  int // see subKey
	isa  isa
	when func(v *ir.Value, b uint64, isConst bool) bool
	asm  string
}

// Values of row.sub and [subKey]. Zero in a row stands for all; counts of shifts
// are keyed by their width.
const (
	anySub   = 0
	axisSub  = 100 // + axis of a geometry operation
	spaceSub = 200 // + address space
	fromSub  = 300 // + kind converted from
)

// alias is the asm of an operation whose result is its operand.
const alias = "alias"

// kinds is a set of type kinds.
type kinds uint32

func of(ks ...ir.Kind) kinds {
	var s kinds
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

func (s kinds) has(k ir.Kind) bool { return s>>k&1 != 0 }

var (
	signed   = of(ir.KI8, ir.KI16, ir.KI32, ir.KI64)
	unsigned = of(ir.KU8, ir.KU16, ir.KU32, ir.KU64)
	int32s   = of(ir.KI32, ir.KU32)
	int64s   = of(ir.KI64, ir.KU64)
	ints     = signed | unsigned
	floats   = of(ir.KF32, ir.KF64)
	halves   = of(ir.KF16, ir.KBF16)
	boolean  = of(ir.KBool)
	f32      = of(ir.KF32)
	pointers = of(ir.KPtr)
	scalars  = ints | floats | halves | boolean
	noKind   = of(ir.KVoid)
)

// coded lists the operations that have code of their own, and why.
var coded = map[ir.Op]string{
	ir.OpConst:      "written where it is used",
	ir.OpParam:      "a parameter of the function",
	ir.OpBlockParam: "becomes a phi",
	ir.OpWarpSize:   "a constant of the target",
	ir.OpLocal:      "an alloca at the entry",
	ir.OpShared:     "the address of a variable of the module",
	ir.OpTable:      "the address of a constant of the module",
	ir.OpIndex:      "getelementptr; nothing for a constant 0",
	ir.OpOffset:     "getelementptr; nothing for a constant 0",
	ir.OpField:      "getelementptr; nothing for a constant 0",
	ir.OpZero:       "a store, or llvm.memset",
}

const logged = "becomes a record in the device log first (pass.LowerLog)"

// unsupported lists the operations that cannot be written, and why.
var unsupported = map[ir.Op]string{
	ir.OpCall: "functions must be inlined first (pass inline)",
	ir.OpProj: "functions must be inlined first (pass inline)",

	ir.OpAssert:  logged,
	ir.OpPrint:   logged,
	ir.OpNonNil:  logged,
	ir.OpDivisor: logged,
	ir.OpCount:   logged,

	ir.OpLocalSized:  "lengths must be constant first (pass size)",
	ir.OpSharedSized: "lengths must be constant first (pass size)",
	ir.OpLaunch:      "becomes part of the module first (pass size)",

	ir.OpCopyAsync: "becomes a load and a store first (pass copies)",
	ir.OpCopyWait:  "has nothing to wait for (pass copies)",
}

// Conditions of rows on operand b, which is constant with the value b if isConst.

// safeDivisor: neither zero nor, of signed numbers, minus one.
func safeDivisor(v *ir.Value, b uint64, isConst bool) bool {
	return isConst && b != 0 && (!v.Type.IsSigned() || b != ^uint64(0))
}

func inWidth(v *ir.Value, b uint64, isConst bool) bool {
	return isConst && b < uint64(v.Type.Bits())
}

// fixedRows are the rows that are not generated; tableRows has all of them.
var fixedRows = []row{
	{op: ir.OpAdd, on: ints, isa: all, asm: "$d = add {t} $a, $b"},
	{op: ir.OpAdd, on: floats, isa: all, asm: "$d = fadd {t} $a, $b"},
	{op: ir.OpSub, on: ints, isa: all, asm: "$d = sub {t} $a, $b"},
	{op: ir.OpSub, on: floats, isa: all, asm: "$d = fsub {t} $a, $b"},
	{op: ir.OpMul, on: ints, isa: all, asm: "$d = mul {t} $a, $b"},
	{op: ir.OpMul, on: floats, isa: all, asm: "$d = fmul {t} $a, $b"},
	{op: ir.OpNeg, on: ints, isa: all, asm: "$d = sub {t} 0, $a"},
	{op: ir.OpNeg, on: floats, isa: all, asm: "$d = fneg {t} $a"},
	{op: ir.OpMulHi, on: ints, isa: all,
		asm: "$0 = {ext} {t} $a to {wide}; $1 = {ext} {t} $b to {wide}; $2 = mul {wide} $0, $1; $3 = lshr {wide} $2, {n}; $d = trunc {wide} $3 to {t}"},

	// LLVM leaves division by zero undefined, and that of the smallest number by -1.
	{op: ir.OpDiv, on: ints, isa: all, when: safeDivisor, asm: "$d = {s}div {t} $a, $b"},
	{op: ir.OpRem, on: ints, isa: all, when: safeDivisor, asm: "$d = {s}rem {t} $a, $b"},
	{op: ir.OpDiv, on: unsigned, isa: all,
		asm: "$0 = icmp eq {t} $b, 0; $1 = select i1 $0, {t} 1, {t} $b; $2 = udiv {t} $a, $1; $d = select i1 $0, {t} 0, {t} $2"},
	{op: ir.OpRem, on: unsigned, isa: all,
		asm: "$0 = icmp eq {t} $b, 0; $1 = select i1 $0, {t} 1, {t} $b; $2 = urem {t} $a, $1; $d = select i1 $0, {t} $a, {t} $2"},
	{op: ir.OpDiv, on: signed, isa: all,
		asm: signedDivisor + "$4 = sdiv {t} $a, $3; $5 = sub {t} 0, $a; $6 = select i1 $1, {t} $5, {t} $4; $d = select i1 $0, {t} 0, {t} $6"},
	{op: ir.OpRem, on: signed, isa: all,
		asm: signedDivisor + "$4 = srem {t} $a, $3; $d = select i1 $0, {t} $a, {t} $4"},
	{op: ir.OpDiv, on: floats, isa: all, asm: "$d = fdiv {t} $a, $b"},

	{op: ir.OpAnd, on: ints | boolean, isa: all, asm: "$d = and {t} $a, $b"},
	{op: ir.OpOr, on: ints | boolean, isa: all, asm: "$d = or {t} $a, $b"},
	{op: ir.OpXor, on: ints | boolean, isa: all, asm: "$d = xor {t} $a, $b"},
	{op: ir.OpAndNot, on: ints | boolean, isa: all, asm: "$0 = xor {t} $b, {ones}; $d = and {t} $a, $0"},
	{op: ir.OpNot, on: ints | boolean, isa: all, asm: "$d = xor {t} $a, {ones}"},

	{op: ir.OpEq, on: ints | halves | boolean | pointers, isa: all, asm: "$d = icmp eq {t} $a, $b"},
	{op: ir.OpNe, on: ints | halves | boolean | pointers, isa: all, asm: "$d = icmp ne {t} $a, $b"},
	{op: ir.OpLt, on: ints, isa: all, asm: "$d = icmp {s}lt {t} $a, $b"},
	{op: ir.OpLe, on: ints, isa: all, asm: "$d = icmp {s}le {t} $a, $b"},
	{op: ir.OpGt, on: ints, isa: all, asm: "$d = icmp {s}gt {t} $a, $b"},
	{op: ir.OpGe, on: ints, isa: all, asm: "$d = icmp {s}ge {t} $a, $b"},
	{op: ir.OpEq, on: floats, isa: all, asm: "$d = fcmp oeq {t} $a, $b"},
	{op: ir.OpNe, on: floats, isa: all, asm: "$d = fcmp une {t} $a, $b"},
	{op: ir.OpLt, on: floats, isa: all, asm: "$d = fcmp olt {t} $a, $b"},
	{op: ir.OpLe, on: floats, isa: all, asm: "$d = fcmp ole {t} $a, $b"},
	{op: ir.OpGt, on: floats, isa: all, asm: "$d = fcmp ogt {t} $a, $b"},
	{op: ir.OpGe, on: floats, isa: all, asm: "$d = fcmp oge {t} $a, $b"},

	{op: ir.OpMin, on: ints, isa: all, asm: "$d = call {t} @llvm.{s}min.{o}({t} $a, {t} $b)"},
	{op: ir.OpMax, on: ints, isa: all, asm: "$d = call {t} @llvm.{s}max.{o}({t} $a, {t} $b)"},
	{op: ir.OpMin, on: floats, isa: all, asm: "$d = call {t} @llvm.minimum.{o}({t} $a, {t} $b)"},
	{op: ir.OpMax, on: floats, isa: all, asm: "$d = call {t} @llvm.maximum.{o}({t} $a, {t} $b)"},

	// Without !fpmath a division and a square root are rounded correctly.
	{op: ir.OpFMA, on: floats, isa: all, asm: "$d = call {t} @llvm.fma.{o}({t} $a, {t} $b, {t} $c)"},
	{op: ir.OpSqrt, on: floats, isa: all, asm: "$d = call {t} @llvm.sqrt.{o}({t} $a)"},
	{op: ir.OpAbs, on: floats, isa: all, asm: "$d = call {t} @llvm.fabs.{o}({t} $a)"},
	{op: ir.OpFloor, on: floats, isa: all, asm: "$d = call {t} @llvm.floor.{o}({t} $a)"},
	{op: ir.OpCeil, on: floats, isa: all, asm: "$d = call {t} @llvm.ceil.{o}({t} $a)"},
	{op: ir.OpTrunc, on: floats, isa: all, asm: "$d = call {t} @llvm.trunc.{o}({t} $a)"},
	{op: ir.OpRint, on: floats, isa: all, asm: "$d = call {t} @llvm.rint.{o}({t} $a)"},
	{op: ir.OpCopysign, on: floats, isa: all, asm: "$d = call {t} @llvm.copysign.{o}({t} $a, {t} $b)"},

	// On AMD the metadata asks for what the hardware gives, with scaling where it
	// would flush subnormal numbers. Where there is no instruction, the exact
	// operation is as good.
	{op: ir.OpApproxExp2, on: f32, isa: amdgcn, asm: "$d = call float @llvm.exp2.f32(float $a)"},
	{op: ir.OpApproxLog2, on: f32, isa: amdgcn, asm: "$d = call float @llvm.log2.f32(float $a)"},
	{op: ir.OpApproxSin, on: f32, isa: amdgcn, asm: "$d = call float @llvm.sin.f32(float $a)"},
	{op: ir.OpApproxCos, on: f32, isa: amdgcn, asm: "$d = call float @llvm.cos.f32(float $a)"},
	{op: ir.OpApproxTanh, on: f32, isa: amdgcn, asm: approxTanh("@llvm.exp2.f32")},
	{op: ir.OpApproxRsqrt, on: f32, isa: amdgcn,
		asm: "$0 = call contract float @llvm.sqrt.f32(float $a), !fpmath !1; $d = fdiv contract float 1.0, $0, !fpmath !1"},
	{op: ir.OpApproxSqrt, on: f32, isa: amdgcn, asm: "$d = call float @llvm.sqrt.f32(float $a), !fpmath !1"},
	{op: ir.OpApproxRecip, on: f32, isa: amdgcn, asm: "$d = fdiv float 1.0, $a, !fpmath !2"},
	{op: ir.OpApproxDiv, on: f32, isa: amdgcn, asm: "$d = fdiv float $a, $b, !fpmath !1"},
	{op: ir.OpApproxExp2, on: f32, isa: nvptx, asm: "$d = call float @llvm.nvvm.ex2.approx.f(float $a)"},
	{op: ir.OpApproxLog2, on: f32, isa: nvptx, asm: "$d = call float @llvm.nvvm.lg2.approx.f(float $a)"},
	{op: ir.OpApproxSin, on: f32, isa: nvptx, asm: "$d = call float @llvm.nvvm.sin.approx.f(float $a)"},
	{op: ir.OpApproxCos, on: f32, isa: nvptx, asm: "$d = call float @llvm.nvvm.cos.approx.f(float $a)"},
	{op: ir.OpApproxTanh, on: f32, isa: nvptx, asm: approxTanh("@llvm.nvvm.ex2.approx.f")},
	{op: ir.OpApproxRsqrt, on: f32, isa: nvptx, asm: "$d = call float @llvm.nvvm.rsqrt.approx.f(float $a)"},
	{op: ir.OpApproxSqrt, on: f32, isa: nvptx, asm: "$d = call float @llvm.nvvm.sqrt.approx.f(float $a)"},
	{op: ir.OpApproxRecip, on: f32, isa: nvptx, asm: "$d = fdiv float 1.0, $a"},
	{op: ir.OpApproxDiv, on: f32, isa: nvptx, asm: "$d = fdiv float $a, $b"},

	{op: ir.OpSelect, on: scalars | pointers, isa: all, asm: "$d = select i1 $a, {t} $b, {t} $c"},

	{op: ir.OpPopcount, on: ints, isa: all, asm: "$d = call {t} @llvm.ctpop.{o}({t} $a)"},
	{op: ir.OpClz, on: ints, isa: all, asm: "$d = call {t} @llvm.ctlz.{o}({t} $a, i1 false)"},
	{op: ir.OpCtz, on: ints, isa: all, asm: "$d = call {t} @llvm.cttz.{o}({t} $a, i1 false)"},
	{op: ir.OpReverse, on: ints, isa: all, asm: "$d = call {t} @llvm.bitreverse.{o}({t} $a)"},

	{op: ir.OpPermute, on: int32s, isa: nvptx, asm: "$d = call i32 @llvm.nvvm.prmt(i32 $a, i32 $b, i32 $c)"},
	{op: ir.OpPermute, on: int32s, isa: amdgcn, asm: amdPermute},
	{op: ir.OpDot4, on: int32s, isa: all, asm: plainDot4()},

	// Of IR that was written as such; compiled kernels log a failure, see pass.LowerLog.
	{op: ir.OpBounds, on: of(ir.KI64), isa: all,
		asm: "$0 = icmp ult i64 $a, $b; br i1 $0, label $L1, label $L0; $L0:; call void @llvm.trap(); unreachable; $L1:"},
}

// approxTanh is 1 - 2/(e^2|x| + 1), or x itself where that would lose digits.
func approxTanh(exp2 string) string {
	return "$0 = call float @llvm.fabs.f32(float $a); $1 = fmul float $0, " + number(float64(float32(2*math.Log2E))) + ";" +
		"$2 = call float " + exp2 + "(float $1); $3 = fadd float $2, 1.0; $4 = fdiv float 1.0, $3, !fpmath !1;" +
		"$5 = call float @llvm.fma.f32(float $4, float -2.0, float 1.0); $6 = call float @llvm.copysign.f32(float $5, float $a);" +
		"$7 = fcmp olt float $0, " + number(1.0/64) + "; $d = select i1 $7, float $a, float $6"
}

// signedDivisor leaves whether $b is zero in $0, whether it is -1 in $1, and in $3
// a divisor that is neither, with the same result if that can be.
const signedDivisor = "$0 = icmp eq {t} $b, 0; $1 = icmp eq {t} $b, -1; $2 = or i1 $0, $1; $3 = select i1 $2, {t} 1, {t} $b; "

// amdPermute spreads the nibbles of the selector to the bytes that the instruction
// wants, picks, and replaces the bytes that were asked for as signs.
const amdPermute = "$0 = and i32 $c, 65535; $1 = shl i32 $0, 8; $2 = or i32 $0, $1; $3 = and i32 $2, 16711935;" +
	"$4 = shl i32 $3, 4; $5 = or i32 $3, $4; $6 = and i32 $5, 252645135; $7 = and i32 $6, 117901063;" +
	"$8 = call i32 @llvm.amdgcn.perm(i32 $b, i32 $a, i32 $7);" +
	"$9 = and i32 $6, 134744072; $10 = lshr i32 $9, 3; $11 = mul i32 $10, 255;" + // bytes to replace
	"$12 = lshr i32 $8, 7; $13 = and i32 $12, 16843009; $14 = mul i32 $13, 255;" + // signs
	"$15 = xor i32 $11, -1; $16 = and i32 $8, $15; $17 = and i32 $14, $11; $d = or i32 $16, $17"

// plainDot4 is multiplications and additions, of which LLVM makes one instruction
// on AMD where there is one; the intrinsic is refused where there is none.
func plainDot4() string {
	s, sum := "", "$c"
	for i := range 4 {
		extended := func(operand string, n int) string {
			return fill("$%d = lshr i32 %s, %d; $%d = trunc i32 $%[1]d to i8; ", n, operand, 8*i, n+1) + fill("$%d = {ext} i8 $%d to i32; ", n+2, n+1)
		}
		next := fmt.Sprintf("$%d", 10*i+7)
		if i == 3 {
			next = "$d"
		}
		s += extended("$a", 10*i) + extended("$b", 10*i+3) +
			fill("$%d = mul i32 $%d, $%d; %s = add i32 %s, $%[1]d; ", 10*i+6, 10*i+2, 10*i+5, next, sum)
		sum = next
	}
	return s
}

// tableRows returns every row.
func tableRows() []row {
	out := append(ptxasRows(), fixedRows...)
	out = append(out, shiftRows()...)
	out = append(out, geometryRows()...)
	out = append(out, warpRows()...)
	out = append(out, memoryRows()...)
	out = append(out, convertRows()...)
	return append(out, bitcastRows()...)
}

// shiftRows writes shifts for each width of the count. LLVM leaves a shift by the
// width or more undefined.
func shiftRows() []row {
	var out []row
	for _, count := range []int{8, 16, 32, 64} {
		for k := ir.KI8; k <= ir.KU64; k++ {
			add := func(op ir.Op, asm string, when func(*ir.Value, uint64, bool) bool) {
				out = append(out, row{op: op, on: of(k), sub: count, isa: all, when: when, asm: asm})
			}
			right := "lshr"
			if signed.has(k) {
				right = "ashr"
			}
			add(ir.OpShl, "$d = shl {t} $a, $b", inWidth)
			add(ir.OpShr, "$d = "+right+" {t} $a, $b", inWidth)
			c := fmt.Sprintf("i%d", count)
			guard, n := "$0 = icmp ult "+c+" $b, {n}; ", "$b"
			switch {
			case count < width(k):
				guard, n = guard+"$1 = zext "+c+" $b to {t}; ", "$1"
			case count > width(k):
				guard, n = guard+"$1 = trunc "+c+" $b to {t}; ", "$1"
			}
			add(ir.OpShl, guard+"$2 = shl {t} $a, "+n+"; $d = select i1 $0, {t} $2, {t} 0", nil)
			if signed.has(k) {
				add(ir.OpShr, guard+"$2 = select i1 $0, {t} "+n+", {t} {last}; $d = ashr {t} $a, $2", nil)
			} else {
				add(ir.OpShr, guard+"$2 = lshr {t} $a, "+n+"; $d = select i1 $0, {t} $2, {t} 0", nil)
			}
		}
	}
	return out
}
