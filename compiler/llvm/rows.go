package llvm

import (
	"math"
	"sync"

	llir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/gokiln/kiln/compiler/ir"
)

// row says how an operation is written for some kinds of type and dialects. Rows
// of an operation are tried in order; the first that applies is taken.
type row struct {
	op   ir.Op
	on   ir.Kinds
	from ir.Kind // of conversions: that of the operand, KVoid for any
	isa  isa
	when func(v *ir.Value, b uint64, isConst bool) bool
	form form
}

var (
	signed   = ir.KindsOf(ir.KI8, ir.KI16, ir.KI32, ir.KI64)
	unsigned = ir.KindsOf(ir.KU8, ir.KU16, ir.KU32, ir.KU64)
	int32s   = ir.KindsOf(ir.KI32, ir.KU32)
	int64s   = ir.KindsOf(ir.KI64, ir.KU64)
	ints     = signed | unsigned
	floats   = ir.KindsOf(ir.KF32, ir.KF64)
	halves   = ir.KindsOf(ir.KF16, ir.KBF16)
	boolean  = ir.KindsOf(ir.KBool)
	single   = ir.KindsOf(ir.KF32)
	index    = ir.KindsOf(ir.KI64)
	pointers = ir.KindsOf(ir.KPtr)
	numbers  = ints | floats | halves
	scalars  = numbers | boolean
	noKind   = ir.KindsOf(ir.KVoid)
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

const (
	logged     = "becomes a record in the device log first (pass.LowerLog)"
	unitFact   = "a constant or arithmetic first (pass target)"
	vectorCode = "made by the passes for vectors of the CPU (pass.Vector)"
	noGroup    = "spelled in PTX only: products of LLVM IR are those of a warp, and package matrix says so to dsl/tile"
	noBulk     = "spelled in PTX only, as are the products of warpgroups that it serves: use dsl.CopyVecAsync, or compile for PTX"
)

// mbarriers is why there are no barriers that count arrivals.
const mbarriers = "of a dsl.MBarrier, whose waits need the threads of a block to go on beside each other, and spelled in PTX only: use t.Sync, or compile for PTX"

// unsupported lists the operations that cannot be written, and why.
var unsupported = map[ir.Op]string{
	ir.OpCall: "functions must be inlined first (pass inline)",
	ir.OpProj: "functions must be inlined first (pass inline)",

	ir.OpGridBarrier: "becomes an arrival in global memory first (pass LowerGrid)",

	ir.OpMatrixFact:      unitFact,
	ir.OpMatrixRow:       unitFact,
	ir.OpMatrixCol:       unitFact,
	ir.OpWarpgroupMMA:    noGroup,
	ir.OpWarpgroupFence:  noGroup,
	ir.OpWarpgroupCommit: noGroup,
	ir.OpWarpgroupWait:   noGroup,
	ir.OpAsyncFence:      noGroup,
	ir.OpWarpgroupRegs:   noGroup,

	ir.OpPackedMMA: "of processors with tile registers alone, for which code asks first",
	ir.OpLoadBytes: vectorCode,
	ir.OpWhole:     vectorCode,

	ir.OpAssert:  logged,
	ir.OpPrint:   logged,
	ir.OpNonNil:  logged,
	ir.OpDivisor: logged,
	ir.OpCount:   logged,

	ir.OpLocalSized:  "lengths must be constant first (pass size)",
	ir.OpSharedSized: "lengths must be constant first (pass size)",
	ir.OpLaunch:      "becomes part of the module first (pass size)",
	ir.OpCluster:     "becomes part of the module first (pass size)",

	ir.OpMBarInit:    mbarriers,
	ir.OpMBarArrive:  mbarriers,
	ir.OpMBarExpect:  mbarriers,
	ir.OpMBarTest:    mbarriers,
	ir.OpMBarRemote:  mbarriers,
	ir.OpCopyTensor:  noBulk,
	ir.OpCopyPixels:  noBulk,
	ir.OpStoreTensor: noBulk,
	ir.OpStoreWait:   noBulk,
	ir.OpClusterSync: mbarriers,
	ir.OpCopyBegun:   "made by the pass copies for checked code of the CPU",
}

// Conditions of rows on operand b, which is constant with the value b if isConst.

// safeDivisor: neither zero nor, of signed numbers, minus one.
func safeDivisor(v *ir.Value, b uint64, isConst bool) bool {
	return isConst && b != 0 && (!v.Type.IsSigned() || b != ^uint64(0))
}

func inWidth(v *ir.Value, b uint64, isConst bool) bool {
	return isConst && b < uint64(v.Type.Bits())
}

// tableRows has every row.
var tableRows = sync.OnceValue(func() (out []row) {
	for _, list := range [][]row{ptxasRows(), arithmeticRows, logicRows, mathRows, approxRows, warpRows, matrixRows, memoryRows(), convertRows} {
		out = append(out, list...)
	}
	return out
})

var arithmeticRows = []row{
	{op: ir.OpAdd, on: ints, isa: all, form: operator((*llir.Block).NewAdd)},
	{op: ir.OpAdd, on: floats, isa: all, form: operator((*llir.Block).NewFAdd)},
	{op: ir.OpSub, on: ints, isa: all, form: operator((*llir.Block).NewSub)},
	{op: ir.OpSub, on: floats, isa: all, form: operator((*llir.Block).NewFSub)},
	{op: ir.OpMul, on: ints, isa: all, form: operator((*llir.Block).NewMul)},
	{op: ir.OpMul, on: floats, isa: all, form: operator((*llir.Block).NewFMul)},
	{op: ir.OpNeg, on: ints, isa: all, form: func(x *build) value.Value { return x.NewSub(x.number(0), x.a) }},
	{op: ir.OpNeg, on: floats, isa: all, form: func(x *build) value.Value { return x.NewFNeg(x.a) }},
	{op: ir.OpMulHi, on: ints, isa: all, form: mulHi},

	// LLVM leaves division by zero undefined, and that of the smallest number by -1.
	{op: ir.OpDiv, on: signed, isa: all, when: safeDivisor, form: operator((*llir.Block).NewSDiv)},
	{op: ir.OpRem, on: signed, isa: all, when: safeDivisor, form: operator((*llir.Block).NewSRem)},
	{op: ir.OpDiv, on: unsigned, isa: all, when: safeDivisor, form: operator((*llir.Block).NewUDiv)},
	{op: ir.OpRem, on: unsigned, isa: all, when: safeDivisor, form: operator((*llir.Block).NewURem)},
	{op: ir.OpDiv, on: unsigned, isa: all, form: func(x *build) value.Value {
		zero := x.icmp(enum.IPredEQ, x.b, x.number(0))
		return x.NewSelect(zero, x.number(0), x.NewUDiv(x.a, x.NewSelect(zero, x.number(1), x.b)))
	}},
	{op: ir.OpRem, on: unsigned, isa: all, form: func(x *build) value.Value {
		zero := x.icmp(enum.IPredEQ, x.b, x.number(0))
		return x.NewSelect(zero, x.a, x.NewURem(x.a, x.NewSelect(zero, x.number(1), x.b)))
	}},
	{op: ir.OpDiv, on: signed, isa: all, form: func(x *build) value.Value {
		zero, minus, divisor := x.signedDivisor()
		quotient := x.NewSDiv(x.a, divisor)
		return x.NewSelect(zero, x.number(0), x.NewSelect(minus, x.NewSub(x.number(0), x.a), quotient))
	}},
	{op: ir.OpRem, on: signed, isa: all, form: func(x *build) value.Value {
		zero, _, divisor := x.signedDivisor()
		return x.NewSelect(zero, x.a, x.NewSRem(x.a, divisor))
	}},
	{op: ir.OpDiv, on: floats, isa: all, form: operator((*llir.Block).NewFDiv)},

	{op: ir.OpMin, on: signed, isa: all, form: intrinsic("llvm.smin")},
	{op: ir.OpMax, on: signed, isa: all, form: intrinsic("llvm.smax")},
	{op: ir.OpMin, on: unsigned, isa: all, form: intrinsic("llvm.umin")},
	{op: ir.OpMax, on: unsigned, isa: all, form: intrinsic("llvm.umax")},
	{op: ir.OpMin, on: floats, isa: all, form: intrinsic("llvm.minimum")},
	{op: ir.OpMax, on: floats, isa: all, form: intrinsic("llvm.maximum")},
}

var logicRows = []row{
	{op: ir.OpAnd, on: ints | boolean, isa: all, form: operator((*llir.Block).NewAnd)},
	{op: ir.OpOr, on: ints | boolean, isa: all, form: operator((*llir.Block).NewOr)},
	{op: ir.OpXor, on: ints | boolean, isa: all, form: operator((*llir.Block).NewXor)},
	{op: ir.OpAndNot, on: ints | boolean, isa: all, form: func(x *build) value.Value { return x.NewAnd(x.a, x.not(x.b)) }},
	{op: ir.OpNot, on: ints | boolean, isa: all, form: func(x *build) value.Value { return x.not(x.a) }},

	{op: ir.OpEq, on: ints | halves | boolean | pointers, isa: all, form: icmp(enum.IPredEQ)},
	{op: ir.OpNe, on: ints | halves | boolean | pointers, isa: all, form: icmp(enum.IPredNE)},
	{op: ir.OpLt, on: signed, isa: all, form: icmp(enum.IPredSLT)},
	{op: ir.OpLe, on: signed, isa: all, form: icmp(enum.IPredSLE)},
	{op: ir.OpGt, on: signed, isa: all, form: icmp(enum.IPredSGT)},
	{op: ir.OpGe, on: signed, isa: all, form: icmp(enum.IPredSGE)},
	{op: ir.OpLt, on: unsigned, isa: all, form: icmp(enum.IPredULT)},
	{op: ir.OpLe, on: unsigned, isa: all, form: icmp(enum.IPredULE)},
	{op: ir.OpGt, on: unsigned, isa: all, form: icmp(enum.IPredUGT)},
	{op: ir.OpGe, on: unsigned, isa: all, form: icmp(enum.IPredUGE)},
	{op: ir.OpEq, on: floats, isa: all, form: fcmp(enum.FPredOEQ)},
	{op: ir.OpNe, on: floats, isa: all, form: fcmp(enum.FPredUNE)},
	{op: ir.OpLt, on: floats, isa: all, form: fcmp(enum.FPredOLT)},
	{op: ir.OpLe, on: floats, isa: all, form: fcmp(enum.FPredOLE)},
	{op: ir.OpGt, on: floats, isa: all, form: fcmp(enum.FPredOGT)},
	{op: ir.OpGe, on: floats, isa: all, form: fcmp(enum.FPredOGE)},

	{op: ir.OpSelect, on: scalars | pointers, isa: all, form: func(x *build) value.Value { return x.NewSelect(x.a, x.b, x.c) }},

	// LLVM leaves a shift by the width or more undefined.
	{op: ir.OpShl, on: ints, isa: all, when: inWidth, form: func(x *build) value.Value { return x.NewShl(x.a, whole(x.t, int64(x.v.Args[1].Imm))) }},
	{op: ir.OpShr, on: ints, isa: all, when: inWidth, form: func(x *build) value.Value { return x.right(whole(x.t, int64(x.v.Args[1].Imm))) }},
	{op: ir.OpShl, on: ints, isa: all, form: func(x *build) value.Value {
		in, n := x.count()
		return x.NewSelect(in, x.NewShl(x.a, n), x.number(0))
	}},
	{op: ir.OpShr, on: unsigned, isa: all, form: func(x *build) value.Value {
		in, n := x.count()
		return x.NewSelect(in, x.right(n), x.number(0))
	}},
	{op: ir.OpShr, on: signed, isa: all, form: func(x *build) value.Value {
		in, n := x.count()
		return x.right(x.NewSelect(in, n, x.number(int64(x.v.Type.Bits())-1)))
	}},

	{op: ir.OpPopcount, on: ints, isa: all, form: intrinsic("llvm.ctpop")},
	{op: ir.OpClz, on: ints, isa: all, form: zeros("llvm.ctlz")},
	{op: ir.OpCtz, on: ints, isa: all, form: zeros("llvm.cttz")},
	{op: ir.OpReverse, on: ints, isa: all, form: intrinsic("llvm.bitreverse")},

	{op: ir.OpPermute, on: int32s, isa: nvptx, form: named("llvm.nvvm.prmt")},
	{op: ir.OpPermute, on: int32s, isa: amdgcn, form: permute},
	{op: ir.OpDot4, on: int32s, isa: all, form: dot4},

	// Of IR that was written as such; compiled kernels log a failure, see pass.LowerLog.
	{op: ir.OpBounds, on: index, isa: all, form: func(x *build) value.Value {
		in, ok, fail := x.icmp(enum.IPredULT, x.a, x.b), x.newLabel(), x.newLabel()
		x.NewCondBr(in, ok, fail)
		x.place(fail)
		x.call("llvm.trap", types.Void)
		x.NewUnreachable()
		x.place(ok)
		return nil
	}},
}

// mathRows are exact: without !fpmath a division and a square root are rounded correctly.
var mathRows = []row{
	{op: ir.OpFMA, on: floats, isa: all, form: intrinsic("llvm.fma")},
	{op: ir.OpSqrt, on: floats, isa: all, form: intrinsic("llvm.sqrt")},
	{op: ir.OpAbs, on: floats, isa: all, form: intrinsic("llvm.fabs")},
	{op: ir.OpFloor, on: floats, isa: all, form: intrinsic("llvm.floor")},
	{op: ir.OpCeil, on: floats, isa: all, form: intrinsic("llvm.ceil")},
	{op: ir.OpTrunc, on: floats, isa: all, form: intrinsic("llvm.trunc")},
	{op: ir.OpRint, on: floats, isa: all, form: intrinsic("llvm.rint")},
	{op: ir.OpCopysign, on: floats, isa: all, form: intrinsic("llvm.copysign")},
}

// approxRows ask on AMD by metadata for what the hardware gives, with scaling where it
// would flush subnormal numbers. Where there is no instruction, the exact operation is
// as good.
var approxRows = []row{
	{op: ir.OpApproxExp2, on: single, isa: amdgcn, form: named("llvm.exp2.f32")},
	{op: ir.OpApproxLog2, on: single, isa: amdgcn, form: named("llvm.log2.f32")},
	{op: ir.OpApproxSin, on: single, isa: amdgcn, form: named("llvm.sin.f32")},
	{op: ir.OpApproxCos, on: single, isa: amdgcn, form: named("llvm.cos.f32")},
	{op: ir.OpApproxTanh, on: single, isa: amdgcn, form: approxTanh("llvm.exp2.f32")},
	{op: ir.OpApproxRsqrt, on: single, isa: amdgcn, form: func(x *build) value.Value {
		contract := []enum.FastMathFlag{enum.FastMathFlagContract}
		root := x.call("llvm.sqrt.f32", types.Float, x.a)
		root.FastMathFlags, root.Metadata = contract, ulps(2.5)
		d := x.NewFDiv(f32(1), root)
		d.FastMathFlags, d.Metadata = contract, ulps(2.5)
		return d
	}},
	{op: ir.OpApproxSqrt, on: single, isa: amdgcn, form: func(x *build) value.Value {
		root := x.call("llvm.sqrt.f32", types.Float, x.a)
		root.Metadata = ulps(2.5)
		return root
	}},
	{op: ir.OpApproxRecip, on: single, isa: amdgcn, form: func(x *build) value.Value { return x.divide(f32(1), x.a, 1) }},
	{op: ir.OpApproxDiv, on: single, isa: amdgcn, form: func(x *build) value.Value { return x.divide(x.a, x.b, 2.5) }},
	{op: ir.OpApproxExp2, on: single, isa: nvptx, form: named("llvm.nvvm.ex2.approx.ftz.f")},
	{op: ir.OpApproxLog2, on: single, isa: nvptx, form: named("llvm.nvvm.lg2.approx.f")},
	{op: ir.OpApproxSin, on: single, isa: nvptx, form: named("llvm.nvvm.sin.approx.f")},
	{op: ir.OpApproxCos, on: single, isa: nvptx, form: named("llvm.nvvm.cos.approx.f")},
	{op: ir.OpApproxTanh, on: single, isa: nvptx, form: approxTanh("llvm.nvvm.ex2.approx.ftz.f")},
	{op: ir.OpApproxRsqrt, on: single, isa: nvptx, form: named("llvm.nvvm.rsqrt.approx.f")},
	{op: ir.OpApproxSqrt, on: single, isa: nvptx, form: named("llvm.nvvm.sqrt.approx.f")},
	{op: ir.OpApproxRecip, on: single, isa: nvptx, form: func(x *build) value.Value { return x.NewFDiv(f32(1), x.a) }},
	{op: ir.OpApproxDiv, on: single, isa: nvptx, form: operator((*llir.Block).NewFDiv)},
}

// divide divides with an error of some units in the last place.
func (x *build) divide(p, q value.Value, error float64) value.Value {
	d := x.NewFDiv(p, q)
	d.Metadata = ulps(error)
	return d
}

// approxTanh is 1 - 2/(e^2|x| + 1), or x itself where that would lose digits.
func approxTanh(exp2 string) form {
	return func(x *build) value.Value {
		size := x.call("llvm.fabs.f32", types.Float, x.a)
		power := x.call(exp2, types.Float, x.NewFMul(size, f32(float64(float32(2*math.Log2E)))))
		part := x.divide(f32(1), x.NewFAdd(power, f32(1)), 2.5)
		result := x.call("llvm.copysign.f32", types.Float, x.call("llvm.fma.f32", types.Float, part, f32(-2), f32(1)), x.a)
		return x.NewSelect(x.NewFCmp(enum.FPredOLT, size, f32(1.0/64)), x.a, result)
	}
}

// not inverts all bits.
func (x *build) not(p value.Value) value.Value { return x.NewXor(p, x.number(-1)) }

func mulHi(x *build) value.Value {
	n := x.v.Type.Bits()
	wide := integer(2 * n)
	product := x.NewMul(x.extend(x.k, x.a, wide), x.extend(x.k, x.b, wide))
	return x.NewTrunc(x.NewLShr(product, whole(wide, int64(n))), x.t)
}

// signedDivisor returns whether b is zero, whether it is -1, and a divisor that is
// neither, with the same result if that can be.
func (x *build) signedDivisor() (zero, minus, divisor value.Value) {
	zero, minus = x.icmp(enum.IPredEQ, x.b, x.number(0)), x.icmp(enum.IPredEQ, x.b, x.number(-1))
	return zero, minus, x.NewSelect(x.NewOr(zero, minus), x.number(1), x.b)
}

// count returns whether the count of a shift is less than the width, and the count as
// a number of the operation's type.
func (x *build) count() (in, n value.Value) {
	bits, count := x.v.Type.Bits(), x.v.Args[1].Type.Bits()
	in = x.icmp(enum.IPredULT, x.b, whole(x.b.Type(), int64(bits)))
	switch {
	case count < bits:
		return in, x.NewZExt(x.b, x.t)
	case count > bits:
		return in, x.NewTrunc(x.b, x.t)
	}
	return in, x.b
}

// right shifts a to the right.
func (x *build) right(n value.Value) value.Value {
	if signed.Has(x.k) {
		return x.NewAShr(x.a, n)
	}
	return x.NewLShr(x.a, n)
}

// zeros counts zeros, of zero too.
func zeros(name string) form {
	return func(x *build) value.Value { return x.call(name+"."+overload(x.t), x.t, x.a, constant.False) }
}

// permute spreads the nibbles of the selector to the bytes that AMD's instruction
// wants, picks, and replaces the bytes that were asked for as signs.
func permute(x *build) value.Value {
	low := x.NewAnd(x.c, i32(0xffff))
	pairs := x.NewAnd(x.NewOr(low, x.NewShl(low, i32(8))), i32(0x00ff00ff))
	nibbles := x.NewAnd(x.NewOr(pairs, x.NewShl(pairs, i32(4))), i32(0x0f0f0f0f))
	picked := x.call("llvm.amdgcn.perm", types.I32, x.b, x.a, x.NewAnd(nibbles, i32(0x07070707)))
	replace := x.NewMul(x.NewLShr(x.NewAnd(nibbles, i32(0x08080808)), i32(3)), i32(0xff))
	signs := x.NewMul(x.NewAnd(x.NewLShr(picked, i32(7)), i32(0x01010101)), i32(0xff))
	return x.NewOr(x.NewAnd(picked, x.NewXor(replace, i32(-1))), x.NewAnd(signs, replace))
}

// dot4 is multiplications and additions, of which LLVM makes one instruction
// on AMD where there is one; the intrinsic is refused where there is none.
func dot4(x *build) value.Value {
	element := func(p value.Value, i int) value.Value {
		return x.extend(x.k, x.NewTrunc(x.NewLShr(p, i32(int64(8*i))), types.I8), types.I32)
	}
	sum := x.c
	for i := range 4 {
		sum = x.NewAdd(sum, x.NewMul(element(x.a, i), element(x.b, i)))
	}
	return sum
}
