package msl

import (
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
)

const everywhere = "metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup"

// rows are the operations that Metal has its own words for.
var rows = append(shuffles(), []cfamily.Row{
	{Op: ir.OpThread, When: cfamily.Axis(0), Text: "(i64)thread_at.x"},
	{Op: ir.OpThread, When: cfamily.Axis(1), Text: "(i64)thread_at.y"},
	{Op: ir.OpThread, When: cfamily.Axis(2), Text: "(i64)thread_at.z"},
	{Op: ir.OpBlock, When: cfamily.Axis(0), Text: "(i64)block_at.x"},
	{Op: ir.OpBlock, When: cfamily.Axis(1), Text: "(i64)block_at.y"},
	{Op: ir.OpBlock, When: cfamily.Axis(2), Text: "(i64)block_at.z"},
	{Op: ir.OpBlockDim, When: cfamily.Axis(0), Text: "(i64)block_size.x"},
	{Op: ir.OpBlockDim, When: cfamily.Axis(1), Text: "(i64)block_size.y"},
	{Op: ir.OpBlockDim, When: cfamily.Axis(2), Text: "(i64)block_size.z"},
	{Op: ir.OpGridDim, When: cfamily.Axis(0), Text: "(i64)grid_size.x"},
	{Op: ir.OpGridDim, When: cfamily.Axis(1), Text: "(i64)grid_size.y"},
	{Op: ir.OpGridDim, When: cfamily.Axis(2), Text: "(i64)grid_size.z"},
	{Op: ir.OpLane, Text: "(i64)lane_at"},
	{Op: ir.OpWarp, Text: "(i64)warp_at"},

	// Metal's fast functions keep their bounds for small arguments only.
	{Op: ir.OpApproxExp2, Text: "metal::precise::exp2($a)"},
	{Op: ir.OpApproxLog2, Text: "metal::precise::log2($a)"},
	{Op: ir.OpApproxSin, Text: "metal::precise::sin($a)"},
	{Op: ir.OpApproxCos, Text: "metal::precise::cos($a)"},
	{Op: ir.OpApproxTanh, Text: "metal::precise::tanh($a)"},

	{Op: ir.OpBounds, Text: "if ((u64)$a >= (u64)$b) return"},

	{Op: ir.OpMMA, Text: "{unit}($a, $b, $c)"},

	{Op: ir.OpBarrier, Text: "metal::threadgroup_barrier(" + everywhere + ")"},
	{Op: ir.OpWarpBarrier, Text: "metal::simdgroup_barrier(" + everywhere + ")"},
	{Op: ir.OpFence, Text: "metal::atomic_thread_fence(" + everywhere + ", metal::memory_order_seq_cst, metal::thread_scope_device)"},
	{Op: ir.OpFenceBlock, Text: "metal::atomic_thread_fence(" + everywhere + ", metal::memory_order_seq_cst, metal::thread_scope_threadgroup)"},
	{Op: ir.OpBallot, Text: "(u64)(metal::simd_vote::vote_t)metal::simd_ballot($a)"},
	{Op: ir.OpAny, Text: "metal::simd_any($a)"},
	{Op: ir.OpAll, Text: "metal::simd_all($a)"},

	{Op: ir.OpAtomicAdd, On: cfamily.Halves, Text: "atomic_add_{k}(&$p, $b)"},
	{Op: ir.OpAtomicAdd, On: cfamily.Int32 | cfamily.F32, Text: "atomic_add(&$p, $b)"},
	{Op: ir.OpAtomicMin, On: cfamily.Int32, Text: "atomic_min(&$p, $b)"},
	{Op: ir.OpAtomicMax, On: cfamily.Int32, Text: "atomic_max(&$p, $b)"},
	{Op: ir.OpAtomicAnd, On: cfamily.Int32, Text: "atomic_and(&$p, $b)"},
	{Op: ir.OpAtomicOr, On: cfamily.Int32, Text: "atomic_or(&$p, $b)"},
	{Op: ir.OpAtomicXor, On: cfamily.Int32, Text: "atomic_xor(&$p, $b)"},
	{Op: ir.OpAtomicExch, On: cfamily.Int32 | cfamily.F32, Text: "atomic_exch(&$p, $b)"},
	{Op: ir.OpAtomicCAS, On: cfamily.Narrow, Text: "({t})part_cas(&$p, {ones}, (u{n})$b, (u{n})$c)"},
	{Op: ir.OpAtomicLoad, On: cfamily.Narrow, Text: "({t})part_read(&$p, {ones})"},
	{Op: ir.OpAtomicStore, On: cfamily.Narrow, Text: "part_write(&$p, {ones}, (u{n})$b)"},
	{Op: ir.OpAtomicCAS, On: cfamily.Int32 | cfamily.F32, Text: "atomic_cas(&$p, $b, $c)"},
	{Op: ir.OpAtomicLoad, On: cfamily.Int32 | cfamily.F32, Text: "atomic_read(&$p)"},
	{Op: ir.OpAtomicStore, On: cfamily.Int32 | cfamily.F32, Text: "atomic_write(&$p, $b)"},
}...)

// shuffles read a register of another lane: the lanes that operations name are
// turned into the index of one, this lane's own where there is none.
func shuffles() []cfamily.Row {
	var out []cfamily.Row
	for _, s := range []struct {
		op   ir.Op
		lane string
	}{
		{ir.OpShflIdx, "(u32)$b & 31u"}, {ir.OpShflUp, "source(lane_at, (i64)lane_at - $b)"},
		{ir.OpShflDown, "source(lane_at, (i64)lane_at + $b)"}, {ir.OpShflXor, "source(lane_at, (i64)lane_at ^ $b)"},
	} {
		out = append(out,
			cfamily.Row{Op: s.op, On: cfamily.F32, Text: "metal::simd_shuffle($a, (u16)(" + s.lane + "))"},
			cfamily.Row{Op: s.op, On: cfamily.Int64, Text: "({t})shuffle64((u64)$a, (u16)(" + s.lane + "))"},
			cfamily.Row{Op: s.op, Text: "({t})metal::simd_shuffle((u32)$a, (u16)(" + s.lane + "))"})
	}
	return out
}
