package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// What vectors cannot do is done lane by lane: offsets and values go through a
// buffer in the context, and a loop visits the lanes of a mask in ascending order.

// The parts of the buffer: an offset, two operands and a result of 8 bytes a lane.
const (
	bufOffset = ctxBuffer
	bufX      = bufOffset + 128
	bufY      = bufX + 128
	bufResult = bufY + 128
)

// dump writes the lanes of a value to a part of the buffer, 4 or 8 bytes each.
func (e *code) dump(at int32, x val, t *ir.Type) {
	if t.Kind == ir.KBool {
		x = e.bytesOf(x)
	}
	e.op(e.moveOp(), e.width(), ctxAt(at), asm.R(x.reg[0]))
	if t.Size() == 8 {
		e.op(e.moveOp(), e.width(), ctxAt(at+int32(e.bytes())), asm.R(half(x, 1)))
	}
}

// fetch reads the lanes of a value from a part of the buffer.
func (e *code) fetch(r val, at int32, t *ir.Type) {
	x := r.reg[0]
	if t.Kind == ir.KBool {
		x = e.vec()
	}
	e.op(e.moveOp(), e.width(), asm.R(x), ctxAt(at))
	if t.Size() == 8 {
		e.op(e.moveOp(), e.width(), asm.R(r.reg[1]), ctxAt(at+int32(e.bytes())))
	}
	if t.Kind == ir.KBool {
		e.truth(r.reg[0], x)
	}
}

// slot returns the address of a lane in a part of the buffer, for values of t; the lane is
// in rax.
func slot(at int32, t *ir.Type) asm.Arg {
	if t.Size() == 8 {
		return asm.MX(ctx, asm.RAX, 8, at)
	}
	return asm.MX(ctx, asm.RAX, 4, at)
}

// eachLane runs code for every lane of a mask, the number of the lane in rax.
func (e *emitter) eachLane(m asm.Reg, code func()) {
	left, again, done := e.gpr(), e.newLabel(), e.newLabel()
	if m == 0 {
		e.op(asm.MOV, 32, asm.R(left), asm.I(1<<e.isa.lanes()-1))
	} else {
		e.bits(left, m)
	}
	e.op(asm.TEST, 32, asm.R(left), asm.R(left))
	e.jcc(asm.CondE, done)
	e.depth++
	e.bind(again)
	e.op(asm.TZCNT, 32, asm.R(asm.RAX), asm.R(left))
	code()
	e.op(asm.BLSR, 32, asm.R(left), asm.R(left))
	e.jcc(asm.CondNE, again)
	e.depth--
	e.bind(done)
}

// laneMemory returns the memory that the lane in rax accesses; it changes rcx.
func (e *emitter) laneMemory(a address) asm.Arg { return e.placeOf(a, slot) }

// placeOf is laneMemory for the lane whose addresses in the buffer are given.
func (e *emitter) placeOf(a address, slot func(part int32, t *ir.Type) asm.Arg) asm.Arg {
	if !a.scattered() && a.step == 0 {
		return a.mem
	}
	if a.off.n == 1 {
		e.op(asm.MOVSXD, 64, asm.R(asm.RCX), slot(bufOffset, ir.I32))
	} else {
		e.op(asm.MOV, 64, asm.R(asm.RCX), slot(bufOffset, ir.I64))
	}
	return asm.MX(a.mem.Reg, asm.RCX, a.scale, a.mem.Disp)
}

// offsetsOf gives an address offsets, if it has none but a step, and writes them to
// the buffer.
func (e *emitter) offsetsOf(a address) address {
	if !a.scattered() {
		if a.step == 0 {
			return a
		}
		a.off, a.scale = e.iota32(a.step), 1
	}
	if a.mem.Index != 0 {
		r := e.gpr()
		e.op(asm.LEA, 64, asm.R(r), a.mem)
		a.mem = asm.M(r, 0)
	}
	t := ir.I32
	if a.off.n == 2 {
		t = ir.I64
	}
	e.dump(bufOffset, a.off, t)
	return a
}

// gatherEach loads lane by lane.
func (e *emitter) gatherEach(r val, t *ir.Type, a address, m asm.Reg) {
	a = e.offsetsOf(a)
	e.eachLane(m, func() {
		mem := e.laneMemory(a)
		e.loadGeneral(asm.RDX, t, mem)
		e.op(asm.MOV, slotBits(t), slot(bufResult, t), asm.R(asm.RDX))
	})
	e.fetch(r, bufResult, t)
}

// scatterRow stores values of up to 4 bytes a constant apart: if all lanes are on without a
// loop.
func (e *emitter) scatterRow(x val, t *ir.Type, a address, m asm.Reg) {
	upper := e.upper(x.reg[0])
	op := map[int]asm.Op{1: asm.VPEXTRB, 2: asm.VPEXTRW, 4: asm.VPEXTRD}[t.Size()]
	e.whole(m, func() {
		for lane := range e.isa.lanes() {
			four := x.reg[0]
			if lane >= 4 {
				four = upper
			}
			at := lane % 4 * 4 / t.Size()
			e.op(op, 128, shifted(a.mem, int32(lane)*int32(a.step)), asm.R(four), asm.I(int64(at)))
		}
	}, func() { e.scatterEach(x, t, a, m) })
}

// scatterEach stores lane by lane.
func (e *emitter) scatterEach(x val, t *ir.Type, a address, m asm.Reg) {
	a = e.offsetsOf(a)
	e.dump(bufX, x, t)
	e.eachLane(m, func() {
		mem := e.laneMemory(a)
		e.op(asm.MOV, slotBits(t), asm.R(asm.RDX), slot(bufX, t))
		e.op(asm.MOV, 8*t.Size(), mem, asm.R(asm.RDX))
	})
}

// slotBits is the width of a lane in the buffer.
func slotBits(t *ir.Type) int {
	if t.Size() == 8 {
		return 64
	}
	return 32
}
