package llvm

import (
	"math/bits"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/gokiln/kiln/compiler/ir"
)

// warpRows say where a thread is, and have barriers, votes and shuffles.
var warpRows = []row{
	{op: ir.OpThread, on: index, isa: amdgcn, form: axis("llvm.amdgcn.workitem.id.")},
	{op: ir.OpBlock, on: index, isa: amdgcn, form: axis("llvm.amdgcn.workgroup.id.")},
	{op: ir.OpBlockDim, on: index, isa: amdgcn, form: func(x *build) value.Value { return x.NewZExt(x.groupSize(int(x.v.Imm)), types.I64) }},
	{op: ir.OpGridDim, on: index, isa: amdgcn, form: func(x *build) value.Value {
		return x.NewZExt(x.load(types.I32, x.offset(types.I32, x.implicit(), i64(int64(x.v.Imm))), 4), types.I64)
	}},
	{op: ir.OpThread, on: index, isa: nvptx, form: axis(special + "tid.")},
	{op: ir.OpBlock, on: index, isa: nvptx, form: axis(special + "ctaid.")},
	{op: ir.OpBlockDim, on: index, isa: nvptx, form: axis(special + "ntid.")},
	{op: ir.OpGridDim, on: index, isa: nvptx, form: axis(special + "nctaid.")},
	{op: ir.OpLane, on: index, isa: all, form: func(x *build) value.Value { return x.NewZExt(x.lane(), types.I64) }},
	{op: ir.OpWarp, on: index, isa: all, form: func(x *build) value.Value {
		return x.NewZExt(x.NewLShr(x.threadIndex(), i32(int64(bits.TrailingZeros(uint(x.d.width))))), types.I64)
	}},

	{op: ir.OpBarrier, on: noKind, isa: amdgcn, form: barrier("workgroup", "llvm.amdgcn.s.barrier")},
	{op: ir.OpBarrier, on: noKind, isa: nvptx, form: effect("llvm.nvvm.barrier0")},
	{op: ir.OpWarpBarrier, on: noKind, isa: amdgcn, form: barrier("wavefront", "llvm.amdgcn.wave.barrier")},
	{op: ir.OpWarpBarrier, on: noKind, isa: nvptx, form: effect("llvm.nvvm.bar.warp.sync", everyLane)},
	{op: ir.OpFence, on: noKind, isa: amdgcn, form: fence("agent")},
	{op: ir.OpFenceBlock, on: noKind, isa: amdgcn, form: fence("workgroup")},
	{op: ir.OpFence, on: noKind, isa: nvptx, form: effect("llvm.nvvm.membar.gl")},
	{op: ir.OpFenceBlock, on: noKind, isa: nvptx, form: effect("llvm.nvvm.membar.cta")},

	{op: ir.OpBallot, on: boolean, isa: all, form: func(x *build) value.Value {
		votes := x.ballot(x.a)
		if x.d.width < 64 {
			return x.NewZExt(votes, types.I64)
		}
		return votes
	}},
	{op: ir.OpAny, on: boolean, isa: amdgcn, form: func(x *build) value.Value { return x.compareVotes(enum.IPredNE, x.a) }},
	{op: ir.OpAll, on: boolean, isa: amdgcn, form: func(x *build) value.Value {
		return x.compareVotes(enum.IPredEQ, x.NewXor(x.a, constant.True))
	}},
	{op: ir.OpAny, on: boolean, isa: nvptx, form: vote("llvm.nvvm.vote.any.sync")},
	{op: ir.OpAll, on: boolean, isa: nvptx, form: vote("llvm.nvvm.vote.all.sync")},
	{op: ir.OpShflIdx, on: numbers, isa: all, form: shuffle},
	{op: ir.OpShflUp, on: numbers, isa: all, form: shuffle},
	{op: ir.OpShflDown, on: numbers, isa: all, form: shuffle},
	{op: ir.OpShflXor, on: numbers, isa: all, form: shuffle},
}

// special precedes the names of the special registers of PTX.
const special = "llvm.nvvm.read.ptx.sreg."

// everyLane is the mask of all threads of a warp of 32.
var everyLane = i32(-1)

// axis reads what there is one of for each axis.
func axis(name string) form {
	return func(x *build) value.Value {
		return x.NewZExt(x.call(name+string(rune('x'+x.v.Imm)), types.I32), types.I64)
	}
}

// effect calls an intrinsic without a result.
func effect(name string, args ...value.Value) form {
	return func(x *build) value.Value {
		x.call(name, types.Void, args...)
		return nil
	}
}

// implicit is the address of the implicit arguments of code object version 5, which
// are behind the kernel's own: numbers of blocks from byte 0, threads in a block from
// byte 12.
func (e *emitter) implicit() value.Value { return e.call("llvm.amdgcn.implicitarg.ptr", pointer(4)) }

// groupSize is the number of threads in a block along an axis, on AMD.
func (e *emitter) groupSize(axis int) value.Value {
	return e.load(types.I16, e.offset(types.I8, e.implicit(), i64(int64(12+2*axis))), 2)
}

// lane is the index of a thread in its warp.
func (e *emitter) lane() value.Value {
	switch e.d.isa {
	case wave32:
		return e.call("llvm.amdgcn.mbcnt.lo", types.I32, i32(-1), i32(0))
	case wave64:
		return e.call("llvm.amdgcn.mbcnt.hi", types.I32, i32(-1), e.call("llvm.amdgcn.mbcnt.lo", types.I32, i32(-1), i32(0)))
	}
	return e.call(special+"laneid", types.I32)
}

// threadIndex is the index of a thread in its block.
func (e *emitter) threadIndex() value.Value {
	name := "llvm.amdgcn.workitem.id."
	if e.d.isa == nvptx {
		name = special + "tid."
	}
	x, y, z := e.call(name+"x", types.I32), e.call(name+"y", types.I32), e.call(name+"z", types.I32)
	var width, height value.Value
	if e.d.isa == nvptx {
		width, height = e.call(special+"ntid.x", types.I32), e.call(special+"ntid.y", types.I32)
	} else {
		width = e.NewZExt(e.groupSize(0), types.I32)
		height = e.NewZExt(e.groupSize(1), types.I32)
	}
	row := e.NewAdd(e.NewMul(z, height), y)
	return e.NewAdd(e.NewMul(row, width), x)
}

func fence(scope string) form {
	return func(x *build) value.Value {
		x.fence(scope, enum.AtomicOrderingSequentiallyConsistent)
		return nil
	}
}

// barrier is an instruction of AMD's between two fences.
func barrier(scope, name string) form {
	return func(x *build) value.Value {
		x.fence(scope, enum.AtomicOrderingRelease)
		x.call(name, types.Void)
		x.fence(scope, enum.AtomicOrderingAcquire)
		return nil
	}
}

// ballot has a bit for each thread of the warp.
func (e *emitter) ballot(p value.Value) value.Value {
	switch e.d.isa {
	case wave32:
		return e.call("llvm.amdgcn.ballot.i32", types.I32, p)
	case wave64:
		return e.call("llvm.amdgcn.ballot.i64", types.I64, p)
	}
	return e.call("llvm.nvvm.vote.ballot.sync", types.I32, everyLane, p)
}

func (e *emitter) compareVotes(by enum.IPred, p value.Value) value.Value {
	votes := e.ballot(p)
	return e.icmp(by, votes, whole(votes.Type(), 0))
}

func vote(name string) form {
	return func(x *build) value.Value { return x.call(name, types.I1, everyLane, x.a) }
}

// source is the lane that a shuffle reads from: this lane itself if the one asked for
// is outside.
func (x *build) source() value.Value {
	if x.v.Op == ir.OpShflIdx {
		return x.NewAnd(x.NewTrunc(x.b, types.I32), i32(int64(x.d.width-1)))
	}
	lane := x.lane()
	var from value.Value
	switch at := x.NewZExt(lane, types.I64); x.v.Op {
	case ir.OpShflUp:
		from = x.NewSub(at, x.b)
	case ir.OpShflDown:
		from = x.NewAdd(at, x.b)
	default:
		from = x.NewXor(at, x.b)
	}
	inside := x.icmp(enum.IPredULT, from, i64(int64(x.d.width)))
	return x.NewSelect(inside, x.NewTrunc(from, types.I32), lane)
}

// shuffle moves a from another lane. The hardware moves 32 bits.
func shuffle(x *build) value.Value {
	from := x.source()
	if x.d.isa != nvptx {
		from = x.NewShl(from, i32(2)) // in bytes
	}
	move := func(p value.Value) value.Value {
		if x.d.isa == nvptx {
			return x.call("llvm.nvvm.shfl.sync.idx.i32", types.I32, everyLane, p, from, i32(31))
		}
		return x.call("llvm.amdgcn.ds.bpermute", types.I32, from, p)
	}
	switch p := x.bits(x.a); x.v.Type.Bits() {
	case 32:
		return x.cast(move(p), x.t)
	case 64:
		low, high := x.NewTrunc(p, types.I32), x.NewTrunc(x.NewLShr(p, i64(32)), types.I32)
		lower, higher := move(low), move(high)
		joined := x.NewOr(x.NewZExt(lower, types.I64), x.NewShl(x.NewZExt(higher, types.I64), i64(32)))
		return x.cast(joined, x.t)
	default:
		return x.NewTrunc(move(x.NewZExt(p, types.I32)), x.t)
	}
}
