package amd64

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// instr emits one operation.
func (e *emitter) instr(b *analysis.Placed, v *ir.Value) error {
	e.pos = int32(v.Pos)
	if v.Op.Pure() && !e.used[v.ID] {
		return nil
	}
	if err := e.operation(b, v); err != nil {
		return fmt.Errorf("%v of %v: %w", v.Op, v.Type, err)
	}
	if e.vals[v.ID].n > 0 {
		e.spread(v)
	}
	return nil
}

func (e *emitter) operation(b *analysis.Placed, v *ir.Value) error {
	switch v.Op {
	case ir.OpConst:
		return nil // made where it is used
	case ir.OpThread, ir.OpBlock, ir.OpBlockDim, ir.OpGridDim, ir.OpLane, ir.OpWarp, ir.OpWarpSize:
		e.geometry(v)
	case ir.OpLocal, ir.OpShared, ir.OpTable:
		e.object(v)
	case ir.OpIndex, ir.OpOffset, ir.OpField:
		if !e.lazy[v.ID] {
			return e.pointer(v)
		}
	case ir.OpLoad, ir.OpLoadBytes:
		return e.load(b, v)
	case ir.OpStore:
		return e.store(b, v)
	case ir.OpZero:
		return e.clearObject(b, v)
	case ir.OpBounds:
		e.bounds(b, v)
	case ir.OpNonNil:
		return e.condition(b, v, devlog.Nil, "")
	case ir.OpAssert:
		return e.condition(b, v, devlog.Asserting(len(v.Args)-1), e.m.Texts[v.Imm])
	case ir.OpBarrier:
		e.op(asm.BARRIER, 64)
		e.op(asm.CALL, 64, e.to(e.meet))
	case ir.OpWarpBarrier, ir.OpFenceBlock: // lanes run in step, a block on one core
	case ir.OpFence:
		e.op(asm.MFENCE, 64)
	case ir.OpShflIdx, ir.OpShflUp, ir.OpShflDown, ir.OpShflXor:
		return e.shuffle(v)
	case ir.OpBallot, ir.OpAny, ir.OpAll:
		e.vote(b, v)
	case ir.OpWhole: // its branch makes it
	case ir.OpMatrixFact:
		e.packedRows(v)
	case ir.OpPackedMMA:
		return e.packedMMA(v)
	default:
		if v.Op.Has(ir.Writes) {
			return e.atomic(b, v)
		}
		return e.compute(v)
	}
	return nil
}
