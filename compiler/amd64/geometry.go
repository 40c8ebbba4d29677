package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// geometry emits where a thread is.
func (e *emitter) geometry(v *ir.Value) {
	at := int32(8 * v.Imm)
	switch v.Op {
	case ir.OpThread:
		if e.General {
			e.threadOfTable(v)
			return
		}
		at += ctxThread
	case ir.OpBlock:
		at += image.CtxBlock
	case ir.OpBlockDim:
		at += image.CtxBlockDim
	case ir.OpGridDim:
		at += image.CtxGridDim
	case ir.OpWarp:
		at = ctxVec
	}
	r := e.gpr()
	e.vals[v.ID] = val{reg: [2]asm.Reg{r}, n: 1}
	switch v.Op {
	case ir.OpLane:
		e.op(asm.MOV, 64, asm.R(r), asm.I(0))
	case ir.OpWarpSize:
		e.op(asm.MOV, 64, asm.R(r), asm.I(int64(e.isa.lanes())))
	default:
		e.op(asm.MOV, 64, asm.R(r), ctxAt(at))
	}
}

// threadOfTable reads thread indices from the driver's table: x of all threads of
// the block, y of all, z of all, in 32 bits; each part is whole vectors long.
func (e *emitter) threadOfTable(v *ir.Value) {
	part := int64(e.bytes()) // of a vector
	e.op(asm.MOV, 64, asm.R(asm.RAX), ctxAt(image.CtxVectors))
	e.op(asm.IMUL, 64, asm.R(asm.RAX), asm.R(asm.RAX), asm.I(int64(v.Imm)))
	e.op(asm.ADD, 64, asm.R(asm.RAX), ctxAt(ctxVec))
	e.op(asm.IMUL, 64, asm.R(asm.RAX), asm.R(asm.RAX), asm.I(part))
	e.op(asm.ADD, 64, asm.R(asm.RAX), ctxAt(image.CtxThreads))
	r := e.lanesOf(v.Type)
	e.vals[v.ID] = r
	e.op(asm.VPMOVSXDQ, e.width(), asm.R(r.reg[0]), asm.M(asm.RAX, 0))
	e.op(asm.VPMOVSXDQ, e.width(), asm.R(r.reg[1]), asm.M(asm.RAX, int32(part/2)))
}

// object emits the address of a shared object, of a table, which is among the constants behind
// the code, or of a local one, which is in the frame, in front of what the allocation of registers
// puts there.
func (e *emitter) object(v *ir.Value) {
	r := e.gpr()
	e.vals[v.ID] = val{reg: [2]asm.Reg{r}, n: 1}
	if v.Op == ir.OpShared {
		e.op(asm.MOV, 64, asm.R(r), ctxAt(image.CtxShared))
		if off := e.shared[v.Imm]; off != 0 {
			e.op(asm.ADD, 64, asm.R(r), asm.I(int64(off)))
		}
		return
	}
	if v.Op == ir.OpTable {
		e.op(asm.LEA, 64, asm.R(r), e.data(e.m.Tables[v.Imm].Data))
		return
	}
	e.op(asm.LEA, 64, asm.R(r), asm.M(frame, int32(e.locals)))
	n := (v.Type.Elem.Size() + 7) &^ 7
	e.locals += n * e.isa.lanes()
}

// linear emits 64-bit arithmetic on values that go up by a constant from lane to
// lane: on those of lane 0.
func (e *emitter) linear(v *ir.Value) error {
	args := make([]val, len(v.Args))
	for i, x := range v.Args {
		if !e.inInstruction(v, i) {
			args[i] = e.kept(x)
		}
	}
	r, err := e.scalar(v, args)
	e.vals[v.ID] = r
	return err
}

// comparesGeneral reports whether v compares what general registers hold.
func comparesGeneral(v *ir.Value) bool {
	return v.Op >= ir.OpEq && v.Op <= ir.OpGe && !inVector(v.Args[0].Type)
}

// inLoopOf reports whether x is made in the innermost loop of the block at a position, or
// both are in none: a vector made where it is used is made no more often.
func (e *emitter) inLoopOf(x *ir.Value, at int) bool {
	return x.Block != nil && e.Blocks[e.Layout.Pos[x.Block.ID]].Loop == e.Blocks[at].Loop
}

// spread makes the vector of a value that is kept once, if one is wanted.
func (e *emitter) spread(v *ir.Value) {
	if e.wanted[v.ID] && e.Of(v).Kind != analysis.VaryingLanes && !inVector(v.Type) && !e.lazy[v.ID] {
		e.spreads[v.ID] = e.spreadNow(v)
	}
	e.makeLimits(v)
	if _, is := e.prefetched.leads[v]; is {
		e.prefetched.leads[v] = e.newLead(v)
	}
}
