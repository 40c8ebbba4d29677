package cuda

import (
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
)

// rows are the operations that CUDA has its own words for.
var rows = append(shuffles(), []cfamily.Row{
	{Op: ir.OpMul, On: cfamily.F32, Text: "__fmul_rn($a, $b)"},
	{Op: ir.OpMul, On: cfamily.F64, Text: "__dmul_rn($a, $b)"},
	{Op: ir.OpDiv, On: cfamily.F32, Text: "__fdiv_rn($a, $b)"},

	// ptxas 13.0 takes a negated 16-bit value for 32768 where it is widened and
	// should be -32768 (neg.s16 and cvt.s64.s16), and NVVM makes negations of some
	// products. Both see 32-bit arithmetic only.
	{Op: ir.OpAdd, On: cfamily.Of(ir.KI16), Text: "wrap_i16((u32)$a + (u32)$b)"},
	{Op: ir.OpSub, On: cfamily.Of(ir.KI16), Text: "wrap_i16((u32)$a - (u32)$b)"},
	{Op: ir.OpMul, On: cfamily.Of(ir.KI16), Text: "wrap_i16((u32)$a * (u32)$b)"},
	{Op: ir.OpNeg, On: cfamily.Of(ir.KI16), Text: "wrap_i16(0u - (u32)$a)"},
	{Op: ir.OpDiv, On: cfamily.Of(ir.KI16), When: byMinusOne, Text: "wrap_i16(0u - (u32)$a)"},

	{Op: ir.OpThread, When: axis(0), Text: "(i64)threadIdx.x"},
	{Op: ir.OpThread, When: axis(1), Text: "(i64)threadIdx.y"},
	{Op: ir.OpThread, When: axis(2), Text: "(i64)threadIdx.z"},
	{Op: ir.OpBlock, When: axis(0), Text: "(i64)blockIdx.x"},
	{Op: ir.OpBlock, When: axis(1), Text: "(i64)blockIdx.y"},
	{Op: ir.OpBlock, When: axis(2), Text: "(i64)blockIdx.z"},
	{Op: ir.OpBlockDim, When: axis(0), Text: "(i64)blockDim.x"},
	{Op: ir.OpBlockDim, When: axis(1), Text: "(i64)blockDim.y"},
	{Op: ir.OpBlockDim, When: axis(2), Text: "(i64)blockDim.z"},
	{Op: ir.OpGridDim, When: axis(0), Text: "(i64)gridDim.x"},
	{Op: ir.OpGridDim, When: axis(1), Text: "(i64)gridDim.y"},
	{Op: ir.OpGridDim, When: axis(2), Text: "(i64)gridDim.z"},
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
	{Op: ir.OpAtomicCAS, On: cfamily.Ints, Text: "({t})atomicCAS((word{n}*)&$p, (word{n})$b, (word{n})$c)"},
	{Op: ir.OpAtomicCAS, On: cfamily.Floats, Text: "{k}_bits(atomicCAS((word{n}*)&$p, bits_{k}($b), bits_{k}($c)))"},
	// An access to a volatile object is one access.
	{Op: ir.OpAtomicLoad, Text: "*(volatile {t}*)&$p"},
	{Op: ir.OpAtomicStore, Text: "*(volatile {t}*)&$p = $b"},
}...)

func byMinusOne(v *ir.Value) bool {
	return v.Args[1].IsConst() && int64(v.Args[1].Imm) == -1
}

func axis(n uint64) func(*ir.Value) bool { return func(v *ir.Value) bool { return v.Imm == n } }

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
