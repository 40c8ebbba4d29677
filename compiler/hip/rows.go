package hip

import (
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
)

const how = ", __ATOMIC_{order}, __HIP_MEMORY_SCOPE_{scope})"

// rows are the operations that HIP has its own words for.
var rows = append(shuffles(), []cfamily.Row{
	{Op: ir.OpThread, When: cfamily.Axis(0), Text: "(i64)__builtin_amdgcn_workitem_id_x()"},
	{Op: ir.OpThread, When: cfamily.Axis(1), Text: "(i64)__builtin_amdgcn_workitem_id_y()"},
	{Op: ir.OpThread, When: cfamily.Axis(2), Text: "(i64)__builtin_amdgcn_workitem_id_z()"},
	{Op: ir.OpBlock, When: cfamily.Axis(0), Text: "(i64)__builtin_amdgcn_workgroup_id_x()"},
	{Op: ir.OpBlock, When: cfamily.Axis(1), Text: "(i64)__builtin_amdgcn_workgroup_id_y()"},
	{Op: ir.OpBlock, When: cfamily.Axis(2), Text: "(i64)__builtin_amdgcn_workgroup_id_z()"},
	{Op: ir.OpBlockDim, Text: "(i64)block_dim({imm})"},
	{Op: ir.OpGridDim, Text: "(i64)grid_dim({imm})"},
	{Op: ir.OpLane, Text: "(i64)lane_id()"},
	{Op: ir.OpWarp, Text: "(i64)warp_id()"},

	// Where the hardware's own instruction flushes subnormal numbers the exact
	// operation stands in.
	{Op: ir.OpApproxExp2, Text: "__builtin_exp2f($a)"},
	{Op: ir.OpApproxLog2, Text: "__builtin_log2f($a)"},
	{Op: ir.OpApproxSin, Text: "__builtin_amdgcn_sinf(turns($a))"},
	{Op: ir.OpApproxCos, Text: "__builtin_amdgcn_cosf(turns($a))"},
	{Op: ir.OpApproxTanh, Text: "approx_tanh($a)"},

	{Op: ir.OpMMA, When: unsigned, Text: "{unit}_unsigned($a, $b, $c)"},
	{Op: ir.OpMMA, Text: "{unit}($a, $b, $c)"},

	{Op: ir.OpBarrier, Text: "barrier()"},
	{Op: ir.OpWarpBarrier, Text: "warp_barrier()"},
	{Op: ir.OpFence, Text: `__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent")`},
	{Op: ir.OpFenceBlock, Text: `__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup")`},
	{Op: ir.OpBallot, Text: "ballot($a)"},
	{Op: ir.OpAny, Text: "ballot($a) != 0"},
	{Op: ir.OpAll, Text: "ballot(!$a) == 0"},

	{Op: ir.OpAtomicAdd, On: cfamily.Halves, Text: "add_{k}(&$p, $b)"},
	{Op: ir.OpAtomicAdd, Text: "__hip_atomic_fetch_add(&$p, $b" + how},
	{Op: ir.OpAtomicMin, Text: "__hip_atomic_fetch_min(&$p, $b" + how},
	{Op: ir.OpAtomicMax, Text: "__hip_atomic_fetch_max(&$p, $b" + how},
	{Op: ir.OpAtomicAnd, Text: "__hip_atomic_fetch_and(&$p, $b" + how},
	{Op: ir.OpAtomicOr, Text: "__hip_atomic_fetch_or(&$p, $b" + how},
	{Op: ir.OpAtomicXor, Text: "__hip_atomic_fetch_xor(&$p, $b" + how},
	{Op: ir.OpAtomicExch, Text: "__hip_atomic_exchange(&$p, $b" + how},
	{Op: ir.OpAtomicCAS, On: cfamily.Int32 | cfamily.Int64, Text: "({t})cas{n}{how}((bits{n}*)&$p, (u{n})$b, (u{n})$c)"},
	{Op: ir.OpAtomicCAS, On: cfamily.Floats, Text: "{k}_bits(cas{n}{how}((bits{n}*)&$p, bits_{k}($b), bits_{k}($c)))"},
	{Op: ir.OpAtomicCAS, On: cfamily.Narrow, Text: "({t})cas_part((u64)&$p, {ones}, (u{n})$b, (u{n})$c)"},
	{Op: ir.OpAtomicLoad, Text: "__hip_atomic_load(&$p" + how},
	{Op: ir.OpAtomicStore, Text: "__hip_atomic_store(&$p, $b" + how},
}...)

// shuffles read a register of another lane: the lanes that operations name are
// turned into the index of one, this lane's own where there is none.
func shuffles() []cfamily.Row {
	var out []cfamily.Row
	for _, s := range []struct {
		op   ir.Op
		lane string
	}{
		{ir.OpShflIdx, "(u32)$b & (WAVE - 1)"}, {ir.OpShflUp, "source((i64)lane_id() - $b)"},
		{ir.OpShflDown, "source((i64)lane_id() + $b)"}, {ir.OpShflXor, "source((i64)lane_id() ^ $b)"},
	} {
		out = append(out,
			cfamily.Row{Op: s.op, On: cfamily.F32 | cfamily.F64, Text: "{k}_bits(read{n}(bits_{k}($a), " + s.lane + "))"},
			cfamily.Row{Op: s.op, On: cfamily.Int64, Text: "({t})read64((u64)$a, " + s.lane + ")"},
			cfamily.Row{Op: s.op, Text: "({t})read32((u32)$a, " + s.lane + ")"})
	}
	return out
}
