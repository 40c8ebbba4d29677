package ptx

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/ptxas"
)

// row says how an operation is written for some kinds of type. Rows of an
// operation are tried in order; the first that applies is taken.
//
// asm is PTX with placeholders. $d is the result; $a, $b, $c are the operands,
// as immediates if they are constants, and $A, $B, $C the same but always in
// registers; [$a] and [$b] are the addresses in operands a and b; $p0, $h0, $r0, $q0 and so on are
// temporaries of 1, 16, 32 and 64 bits. $L is a label, placed by $L: alone. Words
// in braces depend on the kind, see [spell].
type row struct {
	op   ir.Op
	on   ir.Kinds
	sub  int // see subKey
	cc   int // first compute capability
	ptx  int // first version of PTX, where the first with the target has not got it
	when func(v *ir.Value, b uint64, isConst bool) bool
	asm  string

	// narrow says that a result of 8 or 16 bits comes out of asm with garbage
	// above its width.
	narrow bool
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

var (
	small    = ir.KindsOf(ir.KI8, ir.KU8, ir.KI16, ir.KU16)
	int32s   = ir.KindsOf(ir.KI32, ir.KU32)
	int64s   = ir.KindsOf(ir.KI64, ir.KU64)
	ints     = small | int32s | int64s
	signed   = ir.KindsOf(ir.KI8, ir.KI16, ir.KI32, ir.KI64)
	unsigned = ints &^ signed
	// narrowUnsigned are the unsigned integers that have 32-bit registers.
	narrowUnsigned = (small | int32s) & unsigned

	floats   = ir.KindsOf(ir.KF32, ir.KF64)
	halves   = ir.KindsOf(ir.KF16, ir.KBF16)
	boolean  = ir.KindsOf(ir.KBool)
	allKinds = ints | floats | halves | boolean
	words    = int32s | ir.KindsOf(ir.KF32)
	doubles  = int64s | ir.KindsOf(ir.KF64)
	noKind   = ir.KindsOf(ir.KVoid)
)

// coded lists the operations that have code of their own, and why.
var coded = map[ir.Op]string{
	ir.OpConst:         "becomes an immediate operand",
	ir.OpParam:         "loaded once at the entry",
	ir.OpBlockParam:    "written by the edges to the block",
	ir.OpWarpSize:      "a constant of the target",
	ir.OpLocal:         "declares an object; the address is its name",
	ir.OpShared:        "declares an object; the address is its name",
	ir.OpTable:         "declares an object; the address is its name",
	ir.OpIndex:         "folds into the address of its uses",
	ir.OpOffset:        "folds into the address of its uses",
	ir.OpField:         "folds into the address of its uses",
	ir.OpMMA:           "mma.sync, with the shape and types of the unit (package matrix)",
	ir.OpWarpgroupWait: "wgmma.wait_group.sync.aligned",
	ir.OpWarpgroupRegs: "setmaxnreg.inc or .dec, of launches whose threads are known",
	ir.OpWarpgroupMMA:  "wgmma.mma_async, with descriptors of the factors",
	ir.OpLoadMatrix:    "ldmatrix.sync.aligned.m8n8.x4, with .trans for columns",
	ir.OpCopyTensor:    "cp.async.bulk.tensor.3d, to several blocks with .multicast::cluster (sm_90 up)",
	ir.OpCopyPixels:    "cp.async.bulk.tensor.3d to .5d in mode .im2col, likewise (sm_90 up)",
	ir.OpStoreTensor:   "cp.async.bulk.tensor.3d to global memory, a group each (sm_90 up)",
	ir.OpStoreWait:     "cp.async.bulk.wait_group.read",
	ir.OpMBarRemote:    "mbarrier.arrive.shared::cluster, at an address of mapa (sm_90 up)",
	ir.OpZero:          "as many stores as the object needs, or a loop",
	ir.OpCopyVec:       "copies like copy.async, as wide as the addresses allow: `cp.async.cg` of 16 bytes, `cp.async.ca` of 8 or 4 (sm_80 up)",
}

const (
	logged     = "becomes a record in the device log first (pass.LowerLog)"
	unitFact   = "a constant or arithmetic first (pass target)"
	vectorCode = "made by the passes for vectors of the CPU (pass.Vector)"
	vectorUnit = "of processors with tile registers alone, for which code asks first"
)

// unsupported lists the operations that cannot be written, and why.
var unsupported = map[ir.Op]string{
	ir.OpCall: "functions must be inlined first (pass inline)",
	ir.OpProj: "functions must be inlined first (pass inline)",

	ir.OpGridBarrier: "becomes an arrival in global memory first (pass LowerGrid)",

	ir.OpCopyBegun:  "made by the pass copies for checked code of the CPU",
	ir.OpMatrixFact: unitFact,
	ir.OpMatrixRow:  unitFact,
	ir.OpMatrixCol:  unitFact,

	ir.OpPackedMMA: vectorUnit,
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
}

// Conditions of rows on operand b, which is constant with the value b if isConst.

func nonZero(_ *ir.Value, b uint64, isConst bool) bool { return isConst && b != 0 }

func powerOfTwo(v *ir.Value, b uint64, isConst bool) bool {
	return isConst && bits.OnesCount64(b) == 1 && b < 1<<63 && (!v.Type.IsSigned() || int64(b) > 0)
}

// reciprocal: of a division of one, which has a shorter instruction.
func reciprocal(v *ir.Value, _ uint64, _ bool) bool {
	one, _ := ir.Eval(ir.OpConvert, v.Type, 0, []uint64{1}, []*ir.Type{ir.I32})
	return v.Args[0].IsConst() && v.Args[0].Imm == one
}

// negated: of a minimum or maximum, see package ptxas.
func negated(v *ir.Value, _ uint64, _ bool) bool { return ptxas.Negated(v) }

// wideCompare compares two unsigned numbers of up to 32 bits in 64.
func wideCompare(how string) string {
	return "cvt.u64.{t} $q0, $A; cvt.u64.{t} $q1, $B; setp." + how + ".u64 $d, $q0, $q1"
}

func smallCount(_ *ir.Value, b uint64, isConst bool) bool { return isConst && b <= 64 }

func inWarp(_ *ir.Value, b uint64, isConst bool) bool { return isConst && b < 32 }

// fixedRows are the rows that are not generated; tableRows has all of them.
var fixedRows = []row{
	{op: ir.OpAdd, on: ints, asm: "add.{t} $d, $a, $b", narrow: true},
	{op: ir.OpAdd, on: floats, asm: "add.rn.{t} $d, $a, $b"},
	{op: ir.OpSub, on: ints, asm: "sub.{t} $d, $a, $b", narrow: true},
	{op: ir.OpSub, on: floats, asm: "sub.rn.{t} $d, $a, $b"},
	{op: ir.OpMul, on: ints, asm: "mul.lo.{t} $d, $a, $b", narrow: true},
	{op: ir.OpMul, on: floats, asm: "mul.rn.{t} $d, $a, $b"},
	{op: ir.OpNeg, on: ints, asm: "neg.{st} $d, $A", narrow: true},
	{op: ir.OpNeg, on: floats, asm: "neg.{t} $d, $A"},
	{op: ir.OpMulHi, on: small, asm: "mul.lo.{t} {T}0, $a, $b; shr.{t} $d, {T}0, {n}"},
	{op: ir.OpMulHi, on: int32s | int64s, asm: "mul.hi.{t} $d, $a, $b"},

	// Division by a power of two; the bias makes a negative dividend truncate.
	{op: ir.OpDiv, on: unsigned, when: powerOfTwo, asm: "shr.{t} $d, $a, $k"},
	{op: ir.OpRem, on: unsigned, when: powerOfTwo, asm: "and.{b} $d, $a, $m"},
	{op: ir.OpDiv, on: signed, when: powerOfTwo,
		asm: "shr.{st} {T}0, $a, {top}; shr.{ut} {T}1, {T}0, $n; add.{st} {T}2, {T}1, $a; shr.{st} $d, {T}2, $k"},
	{op: ir.OpRem, on: signed, when: powerOfTwo,
		asm: "shr.{st} {T}0, $a, {top}; shr.{ut} {T}1, {T}0, $n; add.{st} {T}2, {T}1, $a; and.{b} {T}3, {T}2, $M; sub.{st} $d, $a, {T}3"},
	{op: ir.OpDiv, on: ints, when: nonZero, asm: "div.{t} $d, $a, $b", narrow: true},
	{op: ir.OpRem, on: ints, when: nonZero, asm: "rem.{t} $d, $a, $b"},
	{op: ir.OpDiv, on: ints, asm: "div.{t} {T}0, $a, $B; setp.eq.{t} $p0, $B, 0; selp.{b} $d, 0, {T}0, $p0", narrow: true},
	{op: ir.OpRem, on: ints, asm: "rem.{t} {T}0, $a, $B; setp.eq.{t} $p0, $B, 0; selp.{b} $d, $a, {T}0, $p0"},
	{op: ir.OpDiv, on: floats, when: reciprocal, asm: "rcp.rn.{t} $d, $B"},
	{op: ir.OpDiv, on: floats, asm: "div.rn.{t} $d, $a, $b"},

	{op: ir.OpAnd, on: ints | boolean, asm: "and.{b} $d, $a, $b"},
	{op: ir.OpOr, on: ints, asm: "or.{b} $d, $a, $b"},
	// By De Morgan, see package ptxas; that is the same code where nothing is wrong.
	{op: ir.OpOr, on: boolean, asm: "not.pred $p0, $A; not.pred $p1, $B; and.pred $p2, $p0, $p1; not.pred $d, $p2"},
	{op: ir.OpXor, on: ints | boolean, asm: "xor.{b} $d, $a, $b"},
	{op: ir.OpAndNot, on: ints | boolean, asm: "not.{b} {T}0, $B; and.{b} $d, $a, {T}0"},
	{op: ir.OpNot, on: ints | boolean, asm: "not.{b} $d, $A", narrow: true},

	// PTX shifts take a 32-bit count and clamp it to the width.
	{op: ir.OpShl, on: ints, sub: 64, when: smallCount, asm: "shl.{b} $d, $a, $b", narrow: true},
	{op: ir.OpShl, on: ints, sub: 32, asm: "shl.{b} $d, $a, $b", narrow: true},
	{op: ir.OpShl, on: ints, sub: 64, asm: "min.u64 $q0, $b, 64; cvt.u32.u64 $r0, $q0; shl.{b} $d, $a, $r0", narrow: true},
	{op: ir.OpShr, on: ints, sub: 64, when: smallCount, asm: "shr.{t} $d, $a, $b"},
	{op: ir.OpShr, on: ints, sub: 32, asm: "shr.{t} $d, $a, $b"},
	{op: ir.OpShr, on: ints, sub: 64, asm: "min.u64 $q0, $b, 64; cvt.u32.u64 $r0, $q0; shr.{t} $d, $a, $r0"},

	{op: ir.OpEq, on: ints | floats, asm: "setp.eq.{t} $d, $a, $b"},
	{op: ir.OpEq, on: boolean, asm: "xor.pred $p0, $a, $b; not.pred $d, $p0"},
	{op: ir.OpNe, on: ints, asm: "setp.ne.{t} $d, $a, $b"},
	{op: ir.OpNe, on: floats, asm: "setp.neu.{t} $d, $a, $b"}, // true if unordered
	{op: ir.OpNe, on: boolean, asm: "xor.pred $d, $a, $b"},
	// Of a selection by these ptxas makes a minimum, unless 64 bits are compared.
	{op: ir.OpLt, on: narrowUnsigned, when: negated, asm: wideCompare("lt")},
	{op: ir.OpLe, on: narrowUnsigned, when: negated, asm: wideCompare("le")},
	{op: ir.OpGt, on: narrowUnsigned, when: negated, asm: wideCompare("gt")},
	{op: ir.OpGe, on: narrowUnsigned, when: negated, asm: wideCompare("ge")},
	{op: ir.OpLt, on: ints | floats, asm: "setp.lt.{t} $d, $a, $b"},
	{op: ir.OpLe, on: ints | floats, asm: "setp.le.{t} $d, $a, $b"},
	{op: ir.OpGt, on: ints | floats, asm: "setp.gt.{t} $d, $a, $b"},
	{op: ir.OpGe, on: ints | floats, asm: "setp.ge.{t} $d, $a, $b"},

	// Without .NaN the instruction returns the other operand; both order zeros.
	{op: ir.OpMin, on: narrowUnsigned, when: negated,
		asm: "cvt.u64.{t} $q0, $A; cvt.u64.{t} $q1, $B; setp.lt.u64 $p0, $q0, $q1; selp.{b} $d, $A, $B, $p0"},
	{op: ir.OpMin, on: (small | int32s) & signed, when: negated, asm: "setp.lt.{t} $p0, $A, $B; selp.{b} $d, $A, $B, $p0"},
	{op: ir.OpMin, on: ints, asm: "min.{t} $d, $a, $b"},
	{op: ir.OpMin, on: ir.KindsOf(ir.KF32), cc: 80, asm: "min.NaN.{t} $d, $a, $b"},
	{op: ir.OpMin, on: floats, asm: "min.{t} {T}0, $a, $b; setp.nan.{t} $p0, $a, $b; selp.{b} $d, {nan}, {T}0, $p0"},
	{op: ir.OpMax, on: narrowUnsigned, when: negated,
		asm: "cvt.u64.{t} $q0, $A; cvt.u64.{t} $q1, $B; setp.gt.u64 $p0, $q0, $q1; selp.{b} $d, $A, $B, $p0"},
	{op: ir.OpMax, on: (small | int32s) & signed, when: negated, asm: "setp.gt.{t} $p0, $A, $B; selp.{b} $d, $A, $B, $p0"},
	{op: ir.OpMax, on: ints, asm: "max.{t} $d, $a, $b"},
	{op: ir.OpMax, on: ir.KindsOf(ir.KF32), cc: 80, asm: "max.NaN.{t} $d, $a, $b"},
	{op: ir.OpMax, on: floats, asm: "max.{t} {T}0, $a, $b; setp.nan.{t} $p0, $a, $b; selp.{b} $d, {nan}, {T}0, $p0"},

	{op: ir.OpFMA, on: floats, asm: "fma.rn.{t} $d, $a, $b, $c"},
	{op: ir.OpSqrt, on: floats, asm: "sqrt.rn.{t} $d, $A"},
	{op: ir.OpAbs, on: floats, asm: "abs.{t} $d, $A"},
	{op: ir.OpFloor, on: floats, asm: "cvt.rmi.{t}.{t} $d, $A"},
	{op: ir.OpCeil, on: floats, asm: "cvt.rpi.{t}.{t} $d, $A"},
	{op: ir.OpTrunc, on: floats, asm: "cvt.rzi.{t}.{t} $d, $A"},
	{op: ir.OpRint, on: floats, asm: "cvt.rni.{t}.{t} $d, $A"},
	{op: ir.OpCopysign, on: floats, asm: "and.{b} {T}0, $a, {mag}; and.{b} {T}1, $b, {sign}; or.{b} $d, {T}0, {T}1"},

	// ex2.approx without .ftz takes three instructions more. tanh.approx needs PTX 7.0, so that the
	// first architecture that is sure to have it is sm_80; before, it is 1 - 2/(e^2|x| + 1), or x
	// itself where that would lose digits.
	{op: ir.OpApproxExp2, on: ir.KindsOf(ir.KF32), asm: "ex2.approx.ftz.{t} $d, $A"},
	{op: ir.OpApproxLog2, on: ir.KindsOf(ir.KF32), asm: "lg2.approx.{t} $d, $A"},
	{op: ir.OpApproxSin, on: ir.KindsOf(ir.KF32), asm: "sin.approx.{t} $d, $A"},
	{op: ir.OpApproxCos, on: ir.KindsOf(ir.KF32), asm: "cos.approx.{t} $d, $A"},
	{op: ir.OpApproxTanh, on: ir.KindsOf(ir.KF32), cc: 80, asm: "tanh.approx.{t} $d, $A"},
	{op: ir.OpApproxTanh, on: ir.KindsOf(ir.KF32),
		asm: "abs.f32 $r0, $A; mul.rn.f32 $r1, $r0, 0f4038AA3B; ex2.approx.f32 $r2, $r1; add.rn.f32 $r3, $r2, 0f3F800000;" +
			"rcp.approx.f32 $r4, $r3; fma.rn.f32 $r5, $r4, 0fC0000000, 0f3F800000; and.b32 $r6, $A, {sign}; or.b32 $r7, $r5, $r6;" +
			"setp.lt.f32 $p0, $r0, 0f3C800000; selp.b32 $d, $A, $r7, $p0"},
	{op: ir.OpApproxRsqrt, on: ir.KindsOf(ir.KF32), asm: "rsqrt.approx.{t} $d, $A"},
	{op: ir.OpApproxSqrt, on: ir.KindsOf(ir.KF32), asm: "sqrt.approx.{t} $d, $A"},
	{op: ir.OpApproxRecip, on: ir.KindsOf(ir.KF32), asm: "rcp.approx.{t} $d, $A"},
	{op: ir.OpApproxDiv, on: ir.KindsOf(ir.KF32), asm: "div.full.{t} $d, $a, $b"},

	{op: ir.OpSelect, on: allKinds &^ boolean, asm: "selp.{b} $d, $b, $c, $A"},
	// Not by logic on predicates, see package ptxas.
	{op: ir.OpSelect, on: boolean,
		asm: "selp.b32 $r0, 1, 0, $b; selp.b32 $r1, 1, 0, $c; selp.b32 $r2, $r0, $r1, $a; setp.ne.u32 $d, $r2, 0"},

	{op: ir.OpPopcount, on: small & signed, asm: "and.b32 $r0, $A, {low}; popc.b32 $d, $r0"},
	{op: ir.OpPopcount, on: ints &^ int64s, asm: "popc.b32 $d, $A"},
	{op: ir.OpPopcount, on: int64s, asm: "popc.b64 $r0, $A; cvt.u64.u32 $d, $r0"},
	{op: ir.OpClz, on: small & unsigned, asm: "clz.b32 $r0, $A; sub.u32 $d, $r0, {above}"},
	{op: ir.OpClz, on: small, asm: "and.b32 $r0, $A, {low}; clz.b32 $r1, $r0; sub.u32 $d, $r1, {above}"},
	{op: ir.OpClz, on: int32s, asm: "clz.b32 $d, $A"},
	{op: ir.OpClz, on: int64s, asm: "clz.b64 $r0, $A; cvt.u64.u32 $d, $r0"},
	{op: ir.OpCtz, on: small, asm: "or.b32 $r0, $A, {stop}; brev.b32 $r1, $r0; clz.b32 $d, $r1"},
	{op: ir.OpCtz, on: int32s, asm: "brev.b32 $r0, $A; clz.b32 $d, $r0"},
	{op: ir.OpCtz, on: int64s, asm: "brev.b64 $q0, $A; clz.b64 $r0, $q0; cvt.u64.u32 $d, $r0"},

	{op: ir.OpReverse, on: small, asm: "brev.b32 $r0, $A; shr.{t} $d, $r0, {above}"},
	{op: ir.OpReverse, on: int32s | int64s, asm: "brev.{b} $d, $A"},
	{op: ir.OpPermute, on: int32s, asm: "prmt.b32 $d, $A, $b, $c"},
	{op: ir.OpDot4, on: int32s, asm: "dp4a.{t}.{t} $d, $A, $b, $c"},

	{op: ir.OpLane, on: ir.KindsOf(ir.KI64), asm: "mov.u32 $r0, %laneid; cvt.u64.u32 $d, $r0"},
	// %warpid may change while a thread runs, so the index is computed.
	{op: ir.OpWarp, on: ir.KindsOf(ir.KI64),
		asm: "mov.u32 $r1, %tid.z; mov.u32 $r2, %ntid.y; mov.u32 $r3, %tid.y; mad.lo.u32 $r4, $r1, $r2, $r3;" +
			"mov.u32 $r5, %ntid.x; mov.u32 $r6, %tid.x; mad.lo.u32 $r7, $r4, $r5, $r6; shr.u32 $r0, $r7, 5; cvt.u64.u32 $d, $r0"},

	// Of IR that was written as such; compiled kernels log a failure, see pass.LowerLog.
	{op: ir.OpBounds, on: ir.KindsOf(ir.KI64), asm: "setp.ge.u64 $p0, $a, $b; @$p0 trap"},
	{op: ir.OpBarrier, on: noKind, asm: "bar.sync 0"},
	{op: ir.OpWarpBarrier, on: noKind, asm: "bar.warp.sync 0xffffffff"},
	// Of more bytes where neighbours are copied, see vectorise.
	{op: ir.OpCopyAsync, on: words, cc: 80, asm: "cp.async.ca.shared.global [$a], [$b], 4"},
	{op: ir.OpCopyAsync, on: doubles, cc: 80, asm: "cp.async.ca.shared.global [$a], [$b], 8"},
	{op: ir.OpCopyAsync, on: small | halves, cc: 80, asm: "ld.global.{m} {T}0, [$b]; st.shared.{m} [$a], {T}0"},
	{op: ir.OpCopyCommit, on: noKind, cc: 80, asm: "cp.async.commit_group"},
	{op: ir.OpCopyWait, on: noKind, cc: 80, asm: "cp.async.wait_all"},
	{op: ir.OpCopyGroups, on: noKind, cc: 80, asm: "cp.async.wait_group $a"},
	{op: ir.OpMBarInit, on: noKind, cc: 80, asm: "cvt.u32.u64 $r0, $B; mbarrier.init.shared.b64 [$a], $r0"},
	{op: ir.OpMBarArrive, on: noKind, cc: 80, asm: "mbarrier.arrive.shared.b64 $q0, [$a]"},
	{op: ir.OpMBarExpect, on: noKind, cc: 90, ptx: 80, asm: "cvt.u32.u64 $r0, $B; mbarrier.arrive.expect_tx.shared::cta.b64 $q0, [$a], $r0"},
	{op: ir.OpClusterSync, on: noKind, cc: 90, asm: "barrier.cluster.arrive; barrier.cluster.wait"},
	{op: ir.OpMBarTest, on: boolean, cc: 90, asm: "cvt.u32.u64 $r0, $B; mbarrier.try_wait.parity.shared::cta.b64 $d, [$a], $r0"},
	{op: ir.OpMBarTest, on: boolean, cc: 80, ptx: 71, asm: "cvt.u32.u64 $r0, $B; mbarrier.test_wait.parity.shared.b64 $d, [$a], $r0"},
	{op: ir.OpWarpgroupFence, on: noKind, cc: 90, asm: "wgmma.fence.sync.aligned"},
	{op: ir.OpWarpgroupCommit, on: noKind, cc: 90, asm: "wgmma.commit_group.sync.aligned"},
	{op: ir.OpAsyncFence, on: noKind, cc: 90, asm: "fence.proxy.async.shared::cta"},
	{op: ir.OpFence, on: noKind, asm: "fence.sc.gpu"},
	{op: ir.OpFenceBlock, on: noKind, asm: "fence.sc.cta"},
	{op: ir.OpBallot, on: boolean, asm: "vote.sync.ballot.b32 $r0, $a, 0xffffffff; cvt.u64.u32 $d, $r0"},
	{op: ir.OpAny, on: boolean, asm: "vote.sync.any.pred $d, $a, 0xffffffff"},
	{op: ir.OpAll, on: boolean, asm: "vote.sync.all.pred $d, $a, 0xffffffff"},
}

// tableRows returns every row.
func tableRows() []row {
	out := append([]row{}, fixedRows...)
	out = append(out, geometryRows()...)
	out = append(out, shuffleRows()...)
	out = append(out, memoryRows()...)
	out = append(out, convertRows()...)
	return append(out, bitcastRows()...)
}

func geometryRows() []row {
	var out []row
	for _, g := range []struct {
		op  ir.Op
		reg string
	}{{ir.OpThread, "%tid."}, {ir.OpBlock, "%ctaid."}, {ir.OpBlockDim, "%ntid."}, {ir.OpGridDim, "%nctaid."}} {
		for axis, letter := range []string{"x", "y", "z"} {
			out = append(out, row{op: g.op, on: ir.KindsOf(ir.KI64), sub: axisSub + axis,
				asm: "mov.u32 $r0, " + g.reg + letter + "; cvt.u64.u32 $d, $r0"})
		}
	}
	return out
}

// shuffleRows writes shuffles. The hardware moves 32 bits and takes its lane
// operand modulo 32, so distances that are not small constants are turned into
// the index of the source lane, this lane's own if the source is outside.
func shuffleRows() []row {
	source := func(lane string) string {
		return "mov.u32 $r0, %laneid; cvt.u64.u32 $q0, $r0; " + lane +
			"; setp.lt.u64 $p0, $q1, 32; cvt.u32.u64 $r1, $q1; selp.b32 $r2, $r1, $r0, $p0; "
	}
	move := func(mode, lane, clamp string, on ir.Kinds) string {
		shfl := "shfl.sync." + mode + ".b32 "
		tail := ", " + lane + ", " + clamp + ", 0xffffffff"
		switch on {
		case halves:
			return "cvt.u32.u16 $r8, $A; " + shfl + "$r6, $r8" + tail + "; cvt.u16.u32 $d, $r6"
		case doubles:
			return "mov.b64 {$r8, $r9}, $A; " + shfl + "$r6, $r8" + tail + "; " + shfl + "$r7, $r9" + tail + "; mov.b64 $d, {$r6, $r7}"
		}
		return shfl + "$d, $A" + tail
	}
	var out []row
	for _, on := range []ir.Kinds{small | words, halves, doubles} {
		add := func(op ir.Op, asm string, when func(*ir.Value, uint64, bool) bool) {
			out = append(out, row{op: op, on: on, sub: anySub, asm: asm, when: when})
		}
		add(ir.OpShflIdx, move("idx", "$b", "31", on), inWarp)
		add(ir.OpShflIdx, "cvt.u32.u64 $r0, $B; "+move("idx", "$r0", "31", on), nil)
		add(ir.OpShflUp, move("up", "$b", "0", on), inWarp)
		add(ir.OpShflUp, source("sub.s64 $q1, $q0, $b")+move("idx", "$r2", "31", on), nil)
		add(ir.OpShflDown, move("down", "$b", "31", on), inWarp)
		add(ir.OpShflDown, source("add.s64 $q1, $q0, $b")+move("idx", "$r2", "31", on), nil)
		add(ir.OpShflXor, move("bfly", "$b", "31", on), inWarp)
		add(ir.OpShflXor, source("xor.b64 $q1, $q0, $b")+move("idx", "$r2", "31", on), nil)
	}
	return out
}

// memoryRows writes loads, stores and atomics for each address space.
func memoryRows() []row {
	var out []row
	for space, s := range []string{ir.Global: "global", ir.Shared: "shared", ir.Local: "local", ir.Constant: "global"} {
		add := func(op ir.Op, on ir.Kinds, asm string) {
			out = append(out, row{op: op, on: on, sub: spaceSub + space, asm: asm})
		}
		add(ir.OpLoad, allKinds&^boolean, "ld."+s+".{m} $d, [$a]")
		add(ir.OpLoad, boolean, "ld."+s+".u8 $r0, [$a]; setp.ne.u32 $d, $r0, 0")
		if ir.Space(space) == ir.Constant {
			continue
		}
		add(ir.OpStore, allKinds&^boolean, "st."+s+".{m} [$a], $b")
		add(ir.OpStore, boolean, "selp.u32 $r0, 1, 0, $b; st."+s+".u8 [$a], $r0")
		if ir.Space(space) == ir.Local {
			continue
		}
		whole := int32s | int64s
		atom := "atom." + s
		add(ir.OpAtomicAdd, whole, atom+".add.{ut} $d, [$a], $b")
		add(ir.OpAtomicAdd, floats, atom+".add.{t} $d, [$a], $b")
		add(ir.OpAtomicMin, whole, atom+".min.{t} $d, [$a], $b")
		add(ir.OpAtomicMax, whole, atom+".max.{t} $d, [$a], $b")
		add(ir.OpAtomicAnd, whole, atom+".and.{b} $d, [$a], $b")
		add(ir.OpAtomicOr, whole, atom+".or.{b} $d, [$a], $b")
		add(ir.OpAtomicXor, whole, atom+".xor.{b} $d, [$a], $b")
		add(ir.OpAtomicExch, whole|floats, atom+".exch.{b} $d, [$a], $b")
		add(ir.OpAtomicCAS, whole|floats, atom+".cas.{b} $d, [$a], $b, $c")
		for _, k := range []ir.Kind{ir.KI8, ir.KU8, ir.KI16, ir.KU16} {
			for _, cc := range []int{75, 0} {
				out = append(out, row{op: ir.OpAtomicCAS, on: ir.KindsOf(k), sub: spaceSub + space, cc: cc, asm: casPart(k, ir.Space(space), cc), narrow: true})
			}
		}
		whole |= small
		add(ir.OpAtomicLoad, whole|floats, "ld.relaxed.gpu."+s+".{m} $d, [$a]")
		add(ir.OpAtomicStore, whole|floats, "st.relaxed.gpu."+s+".{m} [$a], $b")
		for _, k := range []ir.Kind{ir.KF16, ir.KBF16} {
			for _, cc := range []int{90, 80, 75, 0} {
				out = append(out, row{op: ir.OpAtomicAdd, on: ir.KindsOf(k), sub: spaceSub + space, cc: cc, asm: addHalf(k, ir.Space(space), cc)})
			}
		}
	}
	return out
}

// ordered gives the instructions of an atomic operation its order and scope. The load
// before a loop around compare-and-swap needs none: what it reads is only a guess.
func ordered(v *ir.Value, patterns []pattern) []pattern {
	order := [...]string{ir.Relaxed: "relaxed", ir.Acquire: "acquire", ir.Release: "release", ir.AcquireRelease: "acq_rel"}[v.Order()]
	scope := [...]string{ir.DeviceScope: ".gpu.", ir.BlockScope: ".cta."}[v.Scope()]
	out := slices.Clone(patterns)
	for i := range out {
		if len(out[i].pieces) == 0 {
			continue
		}
		text := out[i].pieces[0].text
		if rest, ok := strings.CutPrefix(text, "atom."); ok {
			text = "atom." + order + scope + rest
		} else if v.Op == ir.OpAtomicLoad || v.Op == ir.OpAtomicStore {
			text = strings.Replace(text, ".relaxed.gpu.", "."+order+scope, 1)
		}
		out[i].pieces = slices.Clone(out[i].pieces)
		out[i].pieces[0].text = text
	}
	return out
}

// casPart compares and exchanges 8 or 16 bits: in one instruction where there is one,
// else by exchanging the word around them until nobody came between. If what is there is
// not what is expected, the word is exchanged for itself.
func casPart(k ir.Kind, space ir.Space, cc int) string {
	s := space.String()
	if cc >= 75 && width(k) == 16 {
		return "cvt.u16.u32 $h0, $B; cvt.u16.u32 $h1, $C; atom." + s + ".cas.b16 $h2, [$a], $h0, $h1; cvt.u32.u16 $d, $h2"
	}
	at, find := "[$q20]", "cvt.u32.u64 $r20, $A; and.b64 $q20, $A, -4; "
	if space == ir.Shared {
		at, find = "[$r21]", "mov.b32 $r20, $A; and.b32 $r21, $A, -4; "
	}
	ones := "255"
	if width(k) == 16 {
		ones = "65535"
	}
	return find + "and.b32 $r22, $r20, 3; shl.b32 $r23, $r22, 3; shl.b32 $r24, " + ones + ", $r23; not.b32 $r25, $r24; " +
		"and.b32 $r30, $B, " + ones + "; shl.b32 $r26, $r30, $r23; and.b32 $r31, $C, " + ones + "; shl.b32 $r32, $r31, $r23; " +
		"ld.relaxed.gpu." + s + ".b32 $r27, " + at + "; $L:;" +
		"mov.b32 $r28, $r27; and.b32 $r29, $r28, $r24; setp.eq.u32 $p1, $r29, $r26; and.b32 $r34, $r28, $r25; or.b32 $r35, $r34, $r32;" +
		"selp.b32 $r36, $r35, $r28, $p1; atom." + s + ".cas.b32 $r27, " + at + ", $r28, $r36;" +
		"setp.ne.u32 $p0, $r27, $r28; @$p0 bra $L; shr.u32 $d, $r29, $r23"
}

// addHalf adds to a half in memory: in one instruction where there is one, else by
// exchanging the word around it until nobody came between.
func addHalf(k ir.Kind, space ir.Space, cc int) string {
	s := space.String()
	if cc >= 90 || cc >= 75 && k == ir.KF16 {
		return "atom." + s + ".add.noftz." + ptxType(k) + " $d, [$a], $B"
	}
	at, find := "[$q20]", "cvt.u32.u64 $r20, $A; and.b64 $q20, $A, -4; "
	if space == ir.Shared {
		at, find = "[$r21]", "mov.b32 $r20, $A; and.b32 $r21, $A, -4; "
	}
	half := func(from, to string) string { // the float32 in $r10 goes to a register of its own
		return strings.NewReplacer("$A", from, "$r10", to).Replace(toF32(k))
	}
	round := "cvt.rn.f16.f32 $h0, $r31"
	if k == ir.KBF16 {
		round = strings.Replace(toBF16("$r31", cc), "$d", "$h0", 1)
	}
	return find + "and.b32 $r22, $r20, 2; shl.b32 $r23, $r22, 3; shl.b32 $r24, 65535, $r23; not.b32 $r25, $r24; " +
		half("$B", "$r26") + "ld.relaxed.gpu." + s + ".b32 $r27, " + at + "; $L:;" +
		"mov.b32 $r28, $r27; shr.u32 $r29, $r28, $r23; cvt.u16.u32 $d, $r29; " + half("$d", "$r30") +
		"add.rn.f32 $r31, $r30, $r26; " + round + "; cvt.u32.u16 $r32, $h0; shl.b32 $r33, $r32, $r23;" +
		"and.b32 $r34, $r28, $r25; or.b32 $r35, $r34, $r33; atom." + s + ".cas.b32 $r27, " + at + ", $r28, $r35;" +
		"setp.ne.u32 $p0, $r27, $r28; @$p0 bra $L"
}
