package cfamily

import "github.com/gokiln/kiln/compiler/ir"

// Coded lists the operations that have code of their own, and why.
var Coded = map[ir.Op]string{
	ir.OpConst:      "a literal",
	ir.OpParam:      "a parameter of the function",
	ir.OpBlockParam: "a variable that is set on the way to the block",
	ir.OpWarpSize:   "a constant of the target",
	ir.OpLocal:      "a variable",
	ir.OpShared:     "a variable in shared memory",
	ir.OpTable:      "a constant outside of the kernel",
	ir.OpIndex:      "part of the place that a load or store names",
	ir.OpOffset:     "part of the place that a load or store names",
	ir.OpField:      "part of the place that a load or store names",
	ir.OpLoad:       "the place",
	ir.OpStore:      "an assignment",
	ir.OpZero:       "an assignment of a zero object",
}

// mbarriers is why there are no barriers that count arrivals.
const mbarriers = "of a dsl.MBarrier, whose waits need the threads of a block to go on beside each other, and spelled in PTX only: use t.Sync, or compile for PTX"
const (
	unitFact = "a constant or arithmetic first (pass target)"
	noLoad   = "no load of fragments is known of the target (package matrix), and dsl/tile asks first"
	noGroup  = "no group products are known of the target (package matrix), and dsl/tile asks first"
)

// NoUnit is why a language, or a target of one, has no matrix instruction.
const NoUnit = "no matrix instruction is known of the target (package matrix), and dsl/tile asks first"

// Unsupported lists the operations that languages without a row of their own for them cannot write,
// and why.
var Unsupported = map[ir.Op]string{
	ir.OpCall:        "functions must be inlined first (pass inline)",
	ir.OpProj:        "functions must be inlined first (pass inline)",
	ir.OpNonNil:      "becomes a record in the device log first (pass.LowerLog)",
	ir.OpDivisor:     "becomes a record in the device log first (pass.LowerLog)",
	ir.OpCount:       "becomes a record in the device log first (pass.LowerLog)",
	ir.OpAssert:      "becomes a record in the device log first (pass.LowerLog)",
	ir.OpPrint:       "becomes a record in the device log first (pass.LowerLog)",
	ir.OpLocalSized:  "lengths must be constant first (pass size)",
	ir.OpSharedSized: "lengths must be constant first (pass size)",
	ir.OpLaunch:      "becomes part of the module first (pass size)",
	ir.OpCluster:     "becomes part of the module first (pass size)",

	ir.OpGridBarrier: "becomes an arrival in global memory first (pass LowerGrid)",

	ir.OpCopyAsync:   "becomes a load and a store first (pass copies)",
	ir.OpCopyVec:     "becomes loads and stores first (pass copies)",
	ir.OpCopyCommit:  "has no copies to group (pass copies)",
	ir.OpCopyWait:    "has nothing to wait for (pass copies)",
	ir.OpCopyGroups:  "has nothing to wait for (pass copies)",
	ir.OpMBarInit:    mbarriers,
	ir.OpMBarArrive:  mbarriers,
	ir.OpMBarExpect:  mbarriers,
	ir.OpMBarTest:    mbarriers,
	ir.OpMBarRemote:  mbarriers,
	ir.OpCopyTensor:  mbarriers,
	ir.OpCopyPixels:  mbarriers,
	ir.OpStoreTensor: mbarriers,
	ir.OpStoreWait:   mbarriers,
	ir.OpClusterSync: mbarriers,
	ir.OpCopyBegun:   "made by the pass copies for checked code of the CPU",

	ir.OpMatrixFact:      unitFact,
	ir.OpMatrixRow:       unitFact,
	ir.OpMatrixCol:       unitFact,
	ir.OpLoadMatrix:      noLoad,
	ir.OpWarpgroupMMA:    noGroup,
	ir.OpWarpgroupFence:  noGroup,
	ir.OpWarpgroupCommit: noGroup,
	ir.OpWarpgroupWait:   noGroup,
	ir.OpAsyncFence:      noGroup,
	ir.OpWarpgroupRegs:   noGroup,

	ir.OpPackedMMA: "of processors with tile registers alone, for which code asks first",
	ir.OpLoadBytes: "made by the passes for vectors of the CPU (pass.Vector)",
	ir.OpWhole:     "made by the passes for vectors of the CPU (pass.Vector)",
}

func constOperand(v *ir.Value, i int) (uint64, bool) {
	x := v.Args[i]
	return x.Imm, x.Op == ir.OpConst
}

// plainDivisor: a constant that needs no guard.
func plainDivisor(v *ir.Value) bool {
	b, ok := constOperand(v, 1)
	return ok && b != 0 && !(v.Type.IsSigned() && int64(b) == -1)
}

func plainCount(v *ir.Value) bool {
	b, ok := constOperand(v, 1)
	return ok && b < uint64(v.Type.Bits())
}

// typed: an operand, and so the result, has its type in C as well. Constants are
// written as bare numbers.
func typed(v *ir.Value) bool { return !v.Args[0].IsConst() || !v.Args[1].IsConst() }

// ofConstants: nothing that is selected has its type in C.
func ofConstants(v *ir.Value) bool { return v.Args[1].IsConst() && v.Args[2].IsConst() }

// byConstant: the first operand has its type in C, and gives it to the second, which
// is not negative: it would be written as a signed number.
func byConstant(v *ir.Value) bool {
	b, ok := constOperand(v, 1)
	return ok && !v.Args[0].IsConst() && (!v.Type.IsSigned() || int64(b) >= 0)
}

// byNegative: {less} is what a negative second operand is less than zero, and the first
// operand has its type in C.
func byNegative(v *ir.Value) bool {
	b, ok := constOperand(v, 1)
	return ok && !v.Args[0].IsConst() && v.Type.IsSigned() && int64(b) < 0 && b<<(64-v.Type.Bits()) != 1<<63
}

func typedPlainCount(v *ir.Value) bool { return !v.Args[0].IsConst() && plainCount(v) }

// Rows are the operations that C++, OpenCL C and Metal write alike. Signed
// arithmetic is done on unsigned types, which wrap, and shifts and divisions are
// guarded: C leaves the rest undefined.
var Rows = []Row{
	{Op: ir.OpAdd, On: Floats, Text: "$a + $b"},
	{Op: ir.OpSub, On: Floats, Text: "$a - $b"},
	{Op: ir.OpMul, On: Floats, Text: "$a * $b"},
	{Op: ir.OpDiv, On: Floats, Text: "$a / $b"},
	{Op: ir.OpNeg, On: Floats, Text: "-$a"},
	{Op: ir.OpAdd, On: ir.KindsOf(ir.KU32, ir.KU64), When: typed, Text: "$a + $b"},
	{Op: ir.OpSub, On: ir.KindsOf(ir.KU32, ir.KU64), When: typed, Text: "$a - $b"},
	{Op: ir.OpMul, On: ir.KindsOf(ir.KU32, ir.KU64), When: typed, Text: "$a * $b"},
	{Op: ir.OpAdd, On: Int32 | Int64, When: byConstant, Text: "({t})(({u})$a + $b)"},
	{Op: ir.OpSub, On: Int32 | Int64, When: byConstant, Text: "({t})(({u})$a - $b)"},
	{Op: ir.OpMul, On: Int32 | Int64, When: byConstant, Text: "({t})(({u})$a * $b)"},
	{Op: ir.OpAdd, On: Int32 | Int64, When: byNegative, Text: "({t})(({u})$a - {less})"},
	{Op: ir.OpSub, On: Int32 | Int64, When: byNegative, Text: "({t})(({u})$a + {less})"},
	{Op: ir.OpAdd, On: Ints, Text: "({t})(({u})$a + ({u})$b)"},
	{Op: ir.OpSub, On: Ints, Text: "({t})(({u})$a - ({u})$b)"},
	{Op: ir.OpMul, On: Narrow, Text: "({t})((u32)$a * (u32)$b)"},
	{Op: ir.OpMul, On: Ints, Text: "({t})(({u})$a * ({u})$b)"},
	{Op: ir.OpNeg, On: Ints, Text: "({t})(({u})0 - ({u})$a)"},
	{Op: ir.OpDiv, On: Ints, When: plainDivisor, Text: "({t})($a / ({t})$b)"},
	{Op: ir.OpRem, On: Ints, When: plainDivisor, Text: "({t})($a % ({t})$b)"},
	{Op: ir.OpDiv, On: Ints, Text: "div_{k}($a, $b)"},
	{Op: ir.OpRem, On: Ints, Text: "rem_{k}($a, $b)"},
	{Op: ir.OpMulHi, On: Int64, Text: "mulhi_{k}($a, $b)"},
	{Op: ir.OpMulHi, On: Ints, Text: "({t})((({w})$a * ({w})$b) >> {n})"},

	{Op: ir.OpAnd, On: Boolean, Text: "$a && $b"},
	{Op: ir.OpOr, On: Boolean, Text: "$a || $b"},
	{Op: ir.OpXor, On: Boolean, Text: "$a != $b"},
	{Op: ir.OpAndNot, On: Boolean, Text: "$a && !$b"},
	{Op: ir.OpNot, On: Boolean, Text: "!$a"},
	{Op: ir.OpAnd, On: Int32 | Int64, When: typed, Text: "$a & $b"},
	{Op: ir.OpOr, On: Int32 | Int64, When: typed, Text: "$a | $b"},
	{Op: ir.OpXor, On: Int32 | Int64, When: typed, Text: "$a ^ $b"},
	{Op: ir.OpAnd, On: Ints, Text: "({t})($a & $b)"},
	{Op: ir.OpOr, On: Ints, Text: "({t})($a | $b)"},
	{Op: ir.OpXor, On: Ints, Text: "({t})($a ^ $b)"},
	{Op: ir.OpAndNot, On: Ints, Text: "({t})($a & ~$b)"},
	{Op: ir.OpNot, On: Ints, Text: "({t})~$a"},
	{Op: ir.OpShl, On: ir.KindsOf(ir.KU32, ir.KU64), When: typedPlainCount, Text: "$a << $b"},
	{Op: ir.OpShl, On: Narrow, When: plainCount, Text: "({t})((u32)$a << $b)"},
	{Op: ir.OpShl, On: Ints, When: plainCount, Text: "({t})(({u})$a << $b)"},
	{Op: ir.OpShl, On: Narrow, Text: "({t})($B < {n} ? (u32)$a << $B : 0)"},
	{Op: ir.OpShl, On: Ints, Text: "({t})($B < {n} ? ({u})$a << $B : 0)"},
	{Op: ir.OpShr, On: Int32 | Int64, When: typedPlainCount, Text: "$a >> $b"},
	{Op: ir.OpShr, On: Ints, When: plainCount, Text: "({t})($a >> $b)"},
	{Op: ir.OpShr, On: Signed, Text: "({t})($a >> ($B < {n} ? $B : {m}))"},
	{Op: ir.OpShr, On: Ints, Text: "({t})($B < {n} ? $a >> $B : 0)"},

	{Op: ir.OpEq, Text: "$a == $b"},
	{Op: ir.OpNe, Text: "$a != $b"},
	{Op: ir.OpLt, Text: "$a < $b"},
	{Op: ir.OpLe, Text: "$a <= $b"},
	{Op: ir.OpGt, Text: "$a > $b"},
	{Op: ir.OpGe, Text: "$a >= $b"},
	{Op: ir.OpMin, On: Ints, Text: "$A < $B ? $A : $B"},
	{Op: ir.OpMax, On: Ints, Text: "$A > $B ? $A : $B"},
	{Op: ir.OpMin, On: Floats, Text: "min_{k}($a, $b)"},
	{Op: ir.OpMax, On: Floats, Text: "max_{k}($a, $b)"},
	{Op: ir.OpSelect, On: Ints, When: ofConstants, Text: "({t})($a ? $b : $c)"},
	{Op: ir.OpSelect, Text: "$a ? $b : $c"},

	{Op: ir.OpFMA, On: Floats, Text: "fma_{k}($a, $b, $c)"},
	{Op: ir.OpSqrt, On: Floats, Text: "sqrt_{k}($a)"},
	{Op: ir.OpAbs, On: Floats, Text: "abs_{k}($a)"},
	{Op: ir.OpFloor, On: Floats, Text: "floor_{k}($a)"},
	{Op: ir.OpCeil, On: Floats, Text: "ceil_{k}($a)"},
	{Op: ir.OpTrunc, On: Floats, Text: "trunc_{k}($a)"},
	{Op: ir.OpRint, On: Floats, Text: "rint_{k}($a)"},
	{Op: ir.OpCopysign, On: Floats, Text: "copysign_{k}($a, $b)"},

	{Op: ir.OpConvert, On: Ints, From: Ints, Text: "({t})$a"},
	{Op: ir.OpConvert, On: Floats, From: Ints | Floats, Text: "({t})$a"},
	{Op: ir.OpConvert, On: Ints, From: Floats, Text: "{k}_from_{f}($a)"},
	{Op: ir.OpConvert, On: Ints, From: Halves, Text: "{k}_from_f32(f32_from_{f}($a))"},
	{Op: ir.OpConvert, On: F32, From: Halves, Text: "f32_from_{f}($a)"},
	{Op: ir.OpConvert, On: F64, From: Halves, Text: "(f64)f32_from_{f}($a)"},
	{Op: ir.OpConvert, On: Halves, From: Halves, Text: "{k}_from_f32(f32_from_{f}($a))"},
	{Op: ir.OpConvert, On: Halves, From: F32, Text: "{k}_from_f32($a)"},
	{Op: ir.OpConvert, On: Halves, From: F64, Text: "{k}_from_f32(odd_from_f64($a))"},
	{Op: ir.OpConvert, On: Halves, From: Int64, Text: "{k}_from_f32(odd_from_{f}($a))"},
	{Op: ir.OpConvert, On: Halves, From: Int32, Text: "{k}_from_f32(odd_from_i64((i64)$a))"},
	{Op: ir.OpConvert, On: Halves, From: Narrow, Text: "{k}_from_f32((f32)$a)"},
	{Op: ir.OpBitcast, On: Ints, From: Ints, Text: "({t})$a"},
	{Op: ir.OpBitcast, On: Ints | Halves, From: Ints | Halves, Text: "({t})$a"},
	{Op: ir.OpBitcast, On: Int32, From: F32, Text: "({t})bits_f32($a)"},
	{Op: ir.OpBitcast, On: Int64, From: F64, Text: "({t})bits_f64($a)"},
	{Op: ir.OpBitcast, On: F32, From: Int32, Text: "f32_bits((u32)$a)"},
	{Op: ir.OpBitcast, On: F64, From: Int64, Text: "f64_bits((u64)$a)"},
	{Op: ir.OpBitcast, On: Floats, From: Floats, Text: "$a"},

	// What a language has no faster function for is computed exactly.
	{Op: ir.OpApproxRsqrt, Text: "1.0f / sqrt_f32($a)"},
	{Op: ir.OpApproxSqrt, Text: "sqrt_f32($a)"},
	{Op: ir.OpApproxRecip, Text: "1.0f / $a"},
	{Op: ir.OpApproxDiv, Text: "$a / $b"},

	{Op: ir.OpBounds, Text: "if ((u64)$a >= (u64)$b) fail()"},

	{Op: ir.OpPopcount, On: Int64, Text: "({t})popcount64((u64)$a)"},
	{Op: ir.OpPopcount, On: Ints, Text: "({t})popcount32((u32)({u})$a)"},
	{Op: ir.OpClz, On: Int64, Text: "({t})clz64((u64)$a)"},
	{Op: ir.OpClz, On: Ints, Text: "({t})(clz32((u32)({u})$a) - (32 - {n}))"},
	{Op: ir.OpCtz, On: Int64, Text: "({t})ctz64((u64)$a)"},
	{Op: ir.OpCtz, On: Int32, Text: "({t})ctz32((u32)$a)"},
	{Op: ir.OpCtz, On: Ints, Text: "({t})ctz32((u32)({u})$a | (1u << {n}))"},
	{Op: ir.OpReverse, On: Int64, Text: "({t})reverse64((u64)$a)"},
	{Op: ir.OpReverse, On: Ints, Text: "({t})(reverse32((u32)({u})$a) >> (32 - {n}))"},
	{Op: ir.OpPermute, Text: "({t})permute((u32)$a, (u32)$b, (u32)$c)"},
	{Op: ir.OpDot4, On: ir.KindsOf(ir.KI32), Text: "dot4_i32($a, $b, $c)"},
	{Op: ir.OpDot4, On: ir.KindsOf(ir.KU32), Text: "dot4_u32($a, $b, $c)"},
}
