package llvm

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/ir"
)

// geometryRows writes where a thread is. On AMD the number of blocks and their
// size are among the implicit arguments of code object version 5, behind the
// kernel's own: numbers of blocks from byte 0, threads in a block from byte 12.
func geometryRows() []row {
	var out []row
	i64 := of(ir.KI64)
	for axis := range 3 {
		letter := string(rune('x' + axis))
		add := func(op ir.Op, on isa, asm string) {
			out = append(out, row{op: op, on: i64, sub: axisSub + axis, isa: on, asm: asm})
		}
		widen := "; $d = zext i32 $0 to i64"
		add(ir.OpThread, amdgcn, "$0 = call i32 @llvm.amdgcn.workitem.id."+letter+"()"+widen)
		add(ir.OpBlock, amdgcn, "$0 = call i32 @llvm.amdgcn.workgroup.id."+letter+"()"+widen)
		add(ir.OpBlockDim, amdgcn, groupSize(axis, 0)+"; $d = zext i16 $2 to i64")
		add(ir.OpGridDim, amdgcn, fmt.Sprintf("$1 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr(); "+
			"$2 = getelementptr i32, ptr addrspace(4) $1, i64 %d; $0 = load i32, ptr addrspace(4) $2, align 4", axis)+widen)
		for i, op := range []ir.Op{ir.OpThread, ir.OpBlock, ir.OpBlockDim, ir.OpGridDim} {
			add(op, nvptx, "$0 = call i32 @llvm.nvvm.read.ptx.sreg."+[]string{"tid", "ctaid", "ntid", "nctaid"}[i]+"."+letter+"()"+widen)
		}
	}
	for _, on := range []isa{wave32, wave64, nvptx} {
		out = append(out,
			row{op: ir.OpLane, on: i64, isa: on, asm: lane(on) + "$d = zext i32 $90 to i64"},
			row{op: ir.OpWarp, on: i64, isa: on, asm: threadIndex(on) + "$20 = lshr i32 $10, {log}; $d = zext i32 $20 to i64"})
	}
	return out
}

// groupSize leads to the number of threads in a block along an axis in the i16
// with the number first + 2.
func groupSize(axis, first int) string {
	return fmt.Sprintf("$%[1]d = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr(); $%[2]d = getelementptr i8, ptr addrspace(4) $%[1]d, i64 %[4]d; "+
		"$%[3]d = load i16, ptr addrspace(4) $%[2]d, align 2", first, first+1, first+2, 12+2*axis)
}

// lane leads to the index of a thread in its warp in $90.
func lane(on isa) string {
	const low = "call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0); "
	switch on {
	case wave32:
		return "$90 = " + low
	case wave64:
		return "$91 = " + low + "$90 = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 $91); "
	}
	return "$90 = call i32 @llvm.nvvm.read.ptx.sreg.laneid(); "
}

// threadIndex leads to the index of a thread in its block in $10.
func threadIndex(on isa) string {
	const sum = "$6 = mul i32 $2, $4; $7 = add i32 $6, $1; $8 = mul i32 $7, $3; $10 = add i32 $8, $0; "
	if on == nvptx {
		const read = " = call i32 @llvm.nvvm.read.ptx.sreg."
		return "$0" + read + "tid.x(); $1" + read + "tid.y(); $2" + read + "tid.z(); $3" + read + "ntid.x(); $4" + read + "ntid.y(); " + sum
	}
	const id = " = call i32 @llvm.amdgcn.workitem.id."
	return "$0" + id + "x(); $1" + id + "y(); $2" + id + "z(); " +
		groupSize(0, 30) + "; $3 = zext i16 $32 to i32; " + groupSize(1, 40) + "; $4 = zext i16 $42 to i32; " + sum
}

// warpRows writes barriers, shuffles and votes.
func warpRows() []row {
	const fence = "fence syncscope(\"%s\") release; call void @llvm.amdgcn.%s(); fence syncscope(\"%[1]s\") acquire"
	out := []row{
		{op: ir.OpBarrier, on: noKind, isa: amdgcn, asm: fmt.Sprintf(fence, "workgroup", "s.barrier")},
		{op: ir.OpBarrier, on: noKind, isa: nvptx, asm: "call void @llvm.nvvm.barrier0()"},
		{op: ir.OpWarpBarrier, on: noKind, isa: amdgcn, asm: fmt.Sprintf(fence, "wavefront", "wave.barrier")},
		{op: ir.OpWarpBarrier, on: noKind, isa: nvptx, asm: "call void @llvm.nvvm.bar.warp.sync(i32 -1)"},
		{op: ir.OpFence, on: noKind, isa: amdgcn, asm: `fence syncscope("agent") seq_cst`},
		{op: ir.OpFenceBlock, on: noKind, isa: amdgcn, asm: `fence syncscope("workgroup") seq_cst`},
		{op: ir.OpFence, on: noKind, isa: nvptx, asm: "call void @llvm.nvvm.membar.gl()"},
		{op: ir.OpFenceBlock, on: noKind, isa: nvptx, asm: "call void @llvm.nvvm.membar.cta()"},
		{op: ir.OpBallot, on: boolean, isa: wave64, asm: "$d = call i64 @llvm.amdgcn.ballot.i64(i1 $a)"},
		{op: ir.OpAny, on: boolean, isa: wave64, asm: "$0 = call i64 @llvm.amdgcn.ballot.i64(i1 $a); $d = icmp ne i64 $0, 0"},
		{op: ir.OpAll, on: boolean, isa: wave64, asm: "$0 = xor i1 $a, true; $1 = call i64 @llvm.amdgcn.ballot.i64(i1 $0); $d = icmp eq i64 $1, 0"},
		{op: ir.OpBallot, on: boolean, isa: wave32, asm: "$0 = call i32 @llvm.amdgcn.ballot.i32(i1 $a); $d = zext i32 $0 to i64"},
		{op: ir.OpAny, on: boolean, isa: wave32, asm: "$0 = call i32 @llvm.amdgcn.ballot.i32(i1 $a); $d = icmp ne i32 $0, 0"},
		{op: ir.OpAll, on: boolean, isa: wave32, asm: "$0 = xor i1 $a, true; $1 = call i32 @llvm.amdgcn.ballot.i32(i1 $0); $d = icmp eq i32 $1, 0"},
		{op: ir.OpBallot, on: boolean, isa: nvptx, asm: "$0 = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 $a); $d = zext i32 $0 to i64"},
		{op: ir.OpAny, on: boolean, isa: nvptx, asm: "$d = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 $a)"},
		{op: ir.OpAll, on: boolean, isa: nvptx, asm: "$d = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 $a)"},
	}
	// The ballot's row is found by its operand, those of the other votes by theirs
	// or their result, which are the same.
	for _, on := range []isa{wave32, wave64, nvptx} {
		for _, k := range []kinds{of(ir.KI8, ir.KU8), of(ir.KI16, ir.KU16) | halves, int32s, of(ir.KF32), int64s, of(ir.KF64)} {
			for _, op := range []ir.Op{ir.OpShflIdx, ir.OpShflUp, ir.OpShflDown, ir.OpShflXor} {
				out = append(out, row{op: op, on: k, isa: on, asm: source(op, on) + shuffle(k, on)})
			}
		}
	}
	return out
}

// source leads to the lane that a shuffle reads from in $80: this lane itself if
// the one asked for is outside.
func source(op ir.Op, on isa) string {
	if op == ir.OpShflIdx {
		return "$81 = trunc i64 $b to i32; $80 = and i32 $81, {lanes}; "
	}
	how := map[ir.Op]string{ir.OpShflUp: "sub", ir.OpShflDown: "add", ir.OpShflXor: "xor"}[op]
	return lane(on) + "$82 = zext i32 $90 to i64; $83 = " + how + " i64 $82, $b; $84 = icmp ult i64 $83, {warp};" +
		"$85 = trunc i64 $83 to i32; $80 = select i1 $84, i32 $85, i32 $90; "
}

// shuffle moves $a from lane $80. The hardware moves 32 bits.
func shuffle(k kinds, on isa) string {
	move := func(to, from string) string {
		if on == nvptx {
			return to + " = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 " + from + ", i32 $80, i32 31); "
		}
		return to + " = call i32 @llvm.amdgcn.ds.bpermute(i32 $70, i32 " + from + "); "
	}
	pre := ""
	if on != nvptx {
		pre = "$70 = shl i32 $80, 2; "
	}
	switch k {
	case int32s:
		return pre + move("$d", "$a")
	case of(ir.KF32):
		return pre + "$60 = bitcast float $a to i32; " + move("$61", "$60") + "$d = bitcast i32 $61 to float"
	case int64s, of(ir.KF64):
		const join = "$65 = zext i32 $63 to i64; $66 = zext i32 $64 to i64; $67 = shl i64 $66, 32; "
		x, last := "$a", "$d = or i64 $65, $67"
		if k != int64s {
			pre, x, last = pre+"$59 = bitcast double $a to i64; ", "$59", "$68 = or i64 $65, $67; $d = bitcast i64 $68 to double"
		}
		return pre + "$60 = trunc i64 " + x + " to i32; $61 = lshr i64 " + x + ", 32; $62 = trunc i64 $61 to i32; " +
			move("$63", "$60") + move("$64", "$62") + join + last
	}
	return pre + "$60 = zext {t} $a to i32; " + move("$61", "$60") + "$d = trunc i32 $61 to {t}"
}
