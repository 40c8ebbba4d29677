package opencl

import (
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
)

// rows are the operations that OpenCL has its own words for.
var rows = append(atomics(), []cfamily.Row{
	{Op: ir.OpThread, Text: "(i64)get_local_id({imm})"},
	{Op: ir.OpBlock, Text: "(i64)get_group_id({imm})"},
	{Op: ir.OpBlockDim, Text: "(i64)get_local_size({imm})"},
	{Op: ir.OpGridDim, Text: "(i64)get_num_groups({imm})"},
	{Op: ir.OpLane, Text: "thread_index() % 32"},
	{Op: ir.OpWarp, Text: "thread_index() / 32"},

	{Op: ir.OpApproxExp2, Text: "exp2($a)"},
	{Op: ir.OpApproxLog2, Text: "log2($a)"},
	{Op: ir.OpApproxSin, Text: "sin($a)"},
	{Op: ir.OpApproxCos, Text: "cos($a)"},
	{Op: ir.OpApproxTanh, Text: "tanh($a)"},

	{Op: ir.OpBounds, Text: "if ((u64)$a >= (u64)$b) return"},

	{Op: ir.OpBarrier, Text: "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)"},
	{Op: ir.OpFence, Text: "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)"},
	{Op: ir.OpFenceBlock, Text: "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)"},
}...)

// memory is an address space in which there are atomic operations.
type memory struct {
	in         cfamily.Spaces
	name, word string
}

var memories = []memory{{cfamily.InGlobal, "global", "__global"}, {cfamily.InShared, "local", "__local"}}

// atomics are rows for each address space: a function of C belongs to one. The
// names of those on 64 bits, which are an extension, are shorter by an i and a c.
func atomics() []cfamily.Row {
	var out []cfamily.Row
	for _, m := range memories {
		row := func(op ir.Op, on ir.Kinds, text string) {
			out = append(out, cfamily.Row{Op: op, On: on, Space: m.in, Text: text})
		}
		for op, name := range map[ir.Op]string{
			ir.OpAtomicAdd: "add", ir.OpAtomicMin: "min", ir.OpAtomicMax: "max", ir.OpAtomicAnd: "and", ir.OpAtomicOr: "or",
			ir.OpAtomicXor: "xor", ir.OpAtomicExch: "xchg",
		} {
			row(op, cfamily.Int32, "atomic_"+name+"((volatile "+m.word+" {t}*)&$p, $b)")
			row(op, cfamily.Int64, "atom_"+name+"((volatile "+m.word+" atom_{k}*)&$p, $b)")
		}
		row(ir.OpAtomicAdd, cfamily.Floats|cfamily.Halves, "add_{k}_"+m.name+"(&$p, $b)")
		row(ir.OpAtomicExch, cfamily.F32, "atomic_xchg((volatile "+m.word+" f32*)&$p, $b)")
		row(ir.OpAtomicExch, cfamily.F64, "f64_bits(atom_xchg((volatile "+m.word+" atom_u64*)&$p, bits_f64($b)))")
		row(ir.OpAtomicCAS, cfamily.Int32, "atomic_cmpxchg((volatile "+m.word+" {t}*)&$p, $b, $c)")
		row(ir.OpAtomicCAS, cfamily.Int64, "atom_cmpxchg((volatile "+m.word+" atom_{k}*)&$p, $b, $c)")
		row(ir.OpAtomicCAS, cfamily.F32, "f32_bits(atomic_cmpxchg((volatile "+m.word+" u32*)&$p, bits_f32($b), bits_f32($c)))")
		row(ir.OpAtomicCAS, cfamily.F64, "f64_bits(atom_cmpxchg((volatile "+m.word+" atom_u64*)&$p, bits_f64($b), bits_f64($c)))")
		row(ir.OpAtomicCAS, cfamily.Narrow, "({t})cas_part_"+m.name+"((volatile "+m.word+" u8*)&$p, {ones}, (u{n})$b, (u{n})$c)")
		// An access to a volatile object is one access.
		row(ir.OpAtomicLoad, 0, "*(volatile "+m.word+" {t}*)&$p")
		row(ir.OpAtomicStore, 0, "*(volatile "+m.word+" {t}*)&$p = $b")
	}
	return out
}
