package cuda

import (
	"slices"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/ptxas"
)

// rows are the operations that CUDA has its own words for.
var rows = slices.Concat(shuffles(), matrixRows, []cfamily.Row{
	{Op: ir.OpMul, On: cfamily.F32, Text: "__fmul_rn($a, $b)"},
	{Op: ir.OpMul, On: cfamily.F64, Text: "__dmul_rn($a, $b)"},
	{Op: ir.OpDiv, On: cfamily.F32, Text: "__fdiv_rn($a, $b)"},

	// What ptxas gets wrong (see package ptxas) is hidden from NVVM, which rewrites
	// arithmetic, in helpers that are asm. Negations are of numbers that NVVM knows
	// nothing of, so that it finds no magnitudes.
	{Op: ir.OpAdd, On: sixteen, Text: "wrap_i16((u32)$a + (u32)$b)"},
	{Op: ir.OpSub, On: sixteen, Text: "wrap_i16((u32)$a - (u32)$b)"},
	{Op: ir.OpMul, On: sixteen, Text: "wrap_i16((u32)$a * (u32)$b)"},
	{Op: ir.OpNeg, On: sixteen, Text: "wrap_i16(0u - (u32)$a)"},
	{Op: ir.OpDiv, On: sixteen, When: ptxas.Disguised, Text: "wrap_i16(0u - (u32)$a)"},
	{Op: ir.OpNot, On: sixteen, When: ptxas.Disguised, Text: "wrap_i16(~(u32)$a)"},
	{Op: ir.OpConvert, On: sixteen, From: cfamily.Unsigned&cfamily.Narrow&^ir.KindsOf(ir.KU8) | cfamily.Int32 | cfamily.Int64, Text: "wrap_i16((u32)$a)"},
	{Op: ir.OpBitcast, On: sixteen, From: ir.KindsOf(ir.KU16), Text: "wrap_i16((u32)$a)"},
	{Op: ir.OpNeg, On: cfamily.Int32 | cfamily.Int64, Text: "({t})(({u})0 - ({u})same_{k}($a))"},
	{Op: ir.OpNeg, On: cfamily.Narrow, Text: "({t})(0u - same_u32((u32)$a))"},
	{Op: ir.OpAdd, On: cfamily.Int32 | cfamily.Int64, When: ptxas.Disguised, Text: "({t})(({u})same_{k}($a) + ({u})same_{k}($b))"},
	{Op: ir.OpAdd, On: cfamily.Narrow, When: ptxas.Disguised, Text: "({t})(same_u32((u32)$a) + same_u32((u32)$b))"},
	{Op: ir.OpSub, On: cfamily.Int32 | cfamily.Int64, When: ptxas.Disguised, Text: "({t})(({u})same_{k}($a) - ({u})same_{k}($b))"},
	{Op: ir.OpSub, On: cfamily.Narrow, When: ptxas.Disguised, Text: "({t})(same_u32((u32)$a) - same_u32((u32)$b))"},
	{Op: ir.OpMul, On: cfamily.Int32 | cfamily.Int64, When: ptxas.Disguised, Text: "({t})(({u})same_{k}($a) * ({u})same_{k}($b))"},
	{Op: ir.OpMul, On: cfamily.Narrow, When: ptxas.Disguised, Text: "({t})(same_u32((u32)$a) * same_u32((u32)$b))"},
	{Op: ir.OpXor, On: cfamily.Int32 | cfamily.Int64, When: ptxas.Disguised, Text: "({t})(({u})same_{k}($a) ^ ({u})same_{k}($b))"},
	{Op: ir.OpXor, On: cfamily.Narrow, When: ptxas.Disguised, Text: "({t})(same_u32((u32)$a) ^ same_u32((u32)$b))"},
	{Op: ir.OpDiv, On: cfamily.Int32 | cfamily.Int64, When: ptxas.Disguised, Text: "({t})(({u})0 - ({u})same_{k}($a))"},
	{Op: ir.OpDiv, On: cfamily.Narrow, When: ptxas.Disguised, Text: "({t})(0u - same_u32((u32)$a))"},
	{Op: ir.OpNot, On: cfamily.Int32 | cfamily.Int64, When: ptxas.Disguised, Text: "({t})~same_{k}($a)"},
	{Op: ir.OpNot, On: cfamily.Narrow, When: ptxas.Disguised, Text: "({t})~same_u32((u32)$a)"},
	{Op: ir.OpMin, On: cfamily.Int32, When: ptxas.Computed, Text: "min_{k}($a, $b)"},
	{Op: ir.OpMax, On: cfamily.Int32, When: ptxas.Computed, Text: "max_{k}($a, $b)"},
	{Op: ir.OpMin, On: cfamily.Narrow & cfamily.Signed, When: ptxas.Computed, Text: "({t})min_i32((i32)$a, (i32)$b)"},
	{Op: ir.OpMax, On: cfamily.Narrow & cfamily.Signed, When: ptxas.Computed, Text: "({t})max_i32((i32)$a, (i32)$b)"},
	{Op: ir.OpMin, On: cfamily.Narrow & cfamily.Unsigned, When: ptxas.Computed, Text: "({t})min_u32((u32)$a, (u32)$b)"},
	{Op: ir.OpMax, On: cfamily.Narrow & cfamily.Unsigned, When: ptxas.Computed, Text: "({t})max_u32((u32)$a, (u32)$b)"},
	{Op: ir.OpSelect, On: cfamily.Narrow | cfamily.Int32, When: ptxas.Extremum, Text: "({t})pick($a, (u32)$b, (u32)$c)"},
	{Op: ir.OpSelect, On: cfamily.Int64, When: ptxas.Extremum, Text: "({t})pick64($a, (u64)$b, (u64)$c)"},
	{Op: ir.OpSelect, On: cfamily.Boolean, Text: "pick($a, $b, $c) != 0"},
	{Op: ir.OpOr, On: cfamily.Boolean, Text: "either($a, $b)"},
	{Op: ir.OpAnd, When: ptxas.Disjunction, Text: "both($a, $b)"},
	{Op: ir.OpAndNot, When: ptxas.Disjunction, Text: "both($a, !$b)"},
	{Op: ir.OpLt, On: (cfamily.Narrow | cfamily.Int32) & cfamily.Unsigned, When: ptxas.Negated, Text: "less($a, $b)"},
	{Op: ir.OpGt, On: (cfamily.Narrow | cfamily.Int32) & cfamily.Unsigned, When: ptxas.Negated, Text: "less($b, $a)"},
	{Op: ir.OpGe, On: (cfamily.Narrow | cfamily.Int32) & cfamily.Unsigned, When: ptxas.Negated, Text: "!less($a, $b)"},
	{Op: ir.OpLe, On: (cfamily.Narrow | cfamily.Int32) & cfamily.Unsigned, When: ptxas.Negated, Text: "!less($b, $a)"},
	{Op: ir.OpConvert, On: ir.KindsOf(ir.KF16), From: cfamily.Int32 | cfamily.Int64, Text: "f16_from_{f}($a)"},
	{Op: ir.OpConvert, On: ir.KindsOf(ir.KF16), From: cfamily.Narrow, Text: "f16_from_i32((i32)$a)"},

	{Op: ir.OpThread, When: cfamily.Axis(0), Text: "(i64)threadIdx.x"},
	{Op: ir.OpThread, When: cfamily.Axis(1), Text: "(i64)threadIdx.y"},
	{Op: ir.OpThread, When: cfamily.Axis(2), Text: "(i64)threadIdx.z"},
	{Op: ir.OpBlock, When: cfamily.Axis(0), Text: "(i64)blockIdx.x"},
	{Op: ir.OpBlock, When: cfamily.Axis(1), Text: "(i64)blockIdx.y"},
	{Op: ir.OpBlock, When: cfamily.Axis(2), Text: "(i64)blockIdx.z"},
	{Op: ir.OpBlockDim, When: cfamily.Axis(0), Text: "(i64)blockDim.x"},
	{Op: ir.OpBlockDim, When: cfamily.Axis(1), Text: "(i64)blockDim.y"},
	{Op: ir.OpBlockDim, When: cfamily.Axis(2), Text: "(i64)blockDim.z"},
	{Op: ir.OpGridDim, When: cfamily.Axis(0), Text: "(i64)gridDim.x"},
	{Op: ir.OpGridDim, When: cfamily.Axis(1), Text: "(i64)gridDim.y"},
	{Op: ir.OpGridDim, When: cfamily.Axis(2), Text: "(i64)gridDim.z"},
	{Op: ir.OpLane, Text: "(i64)lane_id()"},
	{Op: ir.OpWarp, Text: "(i64)warp_id()"},

	{Op: ir.OpApproxExp2, Text: "approx_ex2($a)"},
	{Op: ir.OpApproxLog2, Text: "approx_lg2($a)"},
	{Op: ir.OpApproxSin, Text: "approx_sin($a)"},
	{Op: ir.OpApproxCos, Text: "approx_cos($a)"},
	{Op: ir.OpApproxTanh, Text: "approx_tanh($a)"},
	{Op: ir.OpApproxRsqrt, Text: "approx_rsqrt($a)"},
	{Op: ir.OpApproxSqrt, Text: "approx_sqrt($a)"},
	{Op: ir.OpApproxRecip, Text: "approx_rcp($a)"},

	{Op: ir.OpBarrier, Text: "__syncthreads()"},
	{Op: ir.OpWarpBarrier, Text: "__syncwarp()"},
	{Op: ir.OpFence, Text: "__threadfence()"},
	{Op: ir.OpFenceBlock, Text: "__threadfence_block()"},
	{Op: ir.OpBallot, Text: "(u64)__ballot_sync(~0u, $a)"},
	{Op: ir.OpAny, Text: "__any_sync(~0u, $a) != 0"},
	{Op: ir.OpAll, Text: "__all_sync(~0u, $a) != 0"},

	{Op: ir.OpAtomicAdd, On: cfamily.Halves, Text: "add_{k}(&$p, $b)"},
	{Op: ir.OpAtomicAdd, On: cfamily.Floats, Text: "atomicAdd(&$p, $b)"},
	{Op: ir.OpAtomicAdd, On: cfamily.Ints, Text: "({t})atomicAdd((word{n}*)&$p, (word{n})$b)"},
	{Op: ir.OpAtomicMin, On: cfamily.Ints, Text: "atomicMin(&$p, $b)"},
	{Op: ir.OpAtomicMax, On: cfamily.Ints, Text: "atomicMax(&$p, $b)"},
	{Op: ir.OpAtomicAnd, On: cfamily.Ints, Text: "({t})atomicAnd((word{n}*)&$p, (word{n})$b)"},
	{Op: ir.OpAtomicOr, On: cfamily.Ints, Text: "({t})atomicOr((word{n}*)&$p, (word{n})$b)"},
	{Op: ir.OpAtomicXor, On: cfamily.Ints, Text: "({t})atomicXor((word{n}*)&$p, (word{n})$b)"},
	{Op: ir.OpAtomicExch, On: cfamily.Ints, Text: "({t})atomicExch((word{n}*)&$p, (word{n})$b)"},
	{Op: ir.OpAtomicExch, On: cfamily.Floats, Text: "{k}_bits(atomicExch((word{n}*)&$p, bits_{k}($b)))"},
	{Op: ir.OpAtomicCAS, On: cfamily.Narrow, Text: "({t})cas_part((u64)&$p, {ones}, (u{n})$b, (u{n})$c)"},
	{Op: ir.OpAtomicCAS, On: cfamily.Ints, Text: "({t})atomicCAS((word{n}*)&$p, (word{n})$b, (word{n})$c)"},
	{Op: ir.OpAtomicCAS, On: cfamily.Floats, Text: "{k}_bits(atomicCAS((word{n}*)&$p, bits_{k}($b), bits_{k}($c)))"},
	// An access to a volatile object is one access.
	{Op: ir.OpAtomicLoad, Text: "*(volatile {t}*)&$p"},
	{Op: ir.OpAtomicStore, Text: "*(volatile {t}*)&$p = $b"},
})

// sixteen are the numbers that ptxas may have negated and not wrapped.
var sixteen = ir.KindsOf(ir.KI16)

// shuffles read a register of another lane: the lanes that operations name are
// turned into the index of one, this lane's own where there is none.
func shuffles() []cfamily.Row {
	var out []cfamily.Row
	for _, s := range []struct {
		op   ir.Op
		lane string
	}{
		{ir.OpShflIdx, "(int)$b & 31"}, {ir.OpShflUp, "source((i64)lane_id() - $b)"},
		{ir.OpShflDown, "source((i64)lane_id() + $b)"}, {ir.OpShflXor, "source((i64)lane_id() ^ $b)"},
	} {
		out = append(out,
			cfamily.Row{Op: s.op, On: cfamily.Floats | cfamily.Int32 | cfamily.Int64, Text: "__shfl_sync(~0u, $a, " + s.lane + ")"},
			cfamily.Row{Op: s.op, Text: "({t})__shfl_sync(~0u, (u32)$a, " + s.lane + ")"})
	}
	return out
}
