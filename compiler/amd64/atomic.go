package amd64

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Atomic operations, lane by lane. Those on shared memory are plain ones: one
// thread of the machine runs all threads of a block. The processor orders loads and
// stores as acquire and release want it, and code is not moved across any of these, so
// that orders and scopes need nothing more.

// atomic emits an atomic operation.
func (e *emitter) atomic(b *analysis.Placed, v *ir.Value) error {
	t := v.Args[0].Type.Elem
	m := e.active(b)
	plain := v.Args[0].Type.Space != ir.Global
	switch v.Op {
	case ir.OpAtomicLoad:
		if e.Of(v).Kind == analysis.UniformLanes {
			e.vals[v.ID] = e.loadSame(t, e.memory(v.Args[0]))
			return nil
		}
		r := e.lanesOf(t)
		e.vals[v.ID] = r
		a := e.addressOf(v.Args[0], t.Size())
		if t.Size() < 4 {
			e.gatherEach(r, t, a, m)
			return nil
		}
		if !a.scattered() {
			a.off, a.scale = e.iota32(a.step), 1
		}
		return e.gather(r, t, a, m) // which loads each value as one
	case ir.OpAtomicStore:
		e.scatterEach(e.vectors(v.Args[1]), t, e.addressOf(v.Args[0], t.Size()), m)
		return nil
	}
	a := e.addressOf(v.Args[0], t.Size())
	if a.off.n == 2 && v.Args[0].Type.Space == ir.Shared {
		a.off = e.truncate(a.off) // there is no more of it than 32 bits can say
	}
	if op, ok := counts[v.Op]; ok && !e.used[v.ID] && t.IsInt() && t.Size() >= 4 && e.active(b) == 0 && a.off.n == 1 && e.Of(v.Args[1]).Kind == analysis.UniformLanes {
		e.updateAll(op, v, e.plainBase(a), t, plain)
		return nil
	}
	a = e.offsetsOf(a)
	if op, ok := counts[v.Op]; ok && !e.used[v.ID] && t.IsInt() && t.Size() >= 4 {
		e.update(op, v, a, t, b, plain)
		return nil
	}
	e.dump(bufX, e.vectors(v.Args[1]), t)
	if v.Op == ir.OpAtomicCAS {
		e.dump(bufY, e.vectors(v.Args[2]), t)
	}
	var err error
	e.eachLane(m, func() { err = e.atomicLane(v, t, a, plain) })
	if err != nil {
		return err
	}
	r := e.lanesOf(t)
	e.vals[v.ID] = r
	e.fetch(r, bufResult, t)
	return nil
}

// update changes memory lane by lane. With all lanes on there is no loop.
func (e *emitter) update(op asm.Op, v *ir.Value, a address, t *ir.Type, b *analysis.Placed, plain bool) {
	x := v.Args[1]
	same := e.Of(x).Kind == analysis.UniformLanes
	var operand asm.Arg
	if same {
		operand = e.source64(x)
	} else {
		e.dump(bufX, e.vectors(x), t)
	}
	one := func(slot func(part int32, t *ir.Type) asm.Arg) {
		mem := e.placeOf(a, slot)
		by := operand
		if !same {
			e.op(asm.MOV, slotBits(t), asm.R(asm.RDX), slot(bufX, t))
			by = asm.R(asm.RDX)
		}
		e.op(op, 8*t.Size(), mem, by).Lock = !plain
	}
	m := e.active(b)
	if m != 0 {
		e.eachLane(m, func() { one(slot) })
		return
	}
	for lane := range int32(e.isa.lanes()) {
		one(func(part int32, t *ir.Type) asm.Arg { return ctxAt(part + lane*int32(slotBits(t)/8)) })
	}
}

// updateAll is update for all lanes, with one operand for all: it takes the offsets
// from the vector, two at a time.
func (e *emitter) updateAll(op asm.Op, v *ir.Value, a address, t *ir.Type, plain bool) {
	by := e.source64(v.Args[1])
	one := func(offset asm.Reg) {
		e.op(op, 8*t.Size(), asm.MX(a.mem.Reg, offset, a.scale, a.mem.Disp), by).Lock = !plain
	}
	for q := range e.isa.lanes() / 4 {
		four := a.off.reg[0]
		switch {
		case q > 0 && e.isa == v3:
			four = e.upper(four)
		case q > 0:
			x := e.vec()
			e.op(asm.VEXTRACTI32X4, 512, asm.R(x), asm.R(four), asm.I(int64(q)))
			four = x
		}
		high := e.vec()
		e.op(asm.VPUNPCKHQDQ, 128, asm.R(high), asm.R(four), asm.R(four))
		for _, two := range []asm.Reg{four, high} {
			e.op(asm.VMOVQ, 128, asm.R(asm.RCX), asm.R(two))
			e.op(asm.MOVSXD, 64, asm.R(asm.RAX), asm.R(asm.RCX))
			one(asm.RAX)
			e.op(asm.SAR, 64, asm.R(asm.RCX), asm.I(32))
			one(asm.RCX)
		}
	}
}

// atomicLane does the operation for the lane in rax.
func (e *emitter) atomicLane(v *ir.Value, t *ir.Type, a address, plain bool) error {
	mem, bits := e.laneMemory(a), 8*t.Size()
	switch v.Op {
	case ir.OpAtomicAdd:
		if t.IsInt() {
			break
		}
		return e.atomicLoop(v.Op, t, mem)
	case ir.OpAtomicExch:
		e.op(asm.MOV, slotBits(t), asm.R(asm.RDX), slot(bufX, t))
		e.op(asm.XCHG, bits, mem, asm.R(asm.RDX))
		e.canonical(asm.RDX, t)
		e.op(asm.MOV, slotBits(t), slot(bufResult, t), asm.R(asm.RDX))
		return nil
	default:
		return e.atomicLoop(v.Op, t, mem)
	}
	e.op(asm.MOV, slotBits(t), asm.R(asm.RDX), slot(bufX, t))
	if plain {
		old := e.gpr()
		e.op(asm.MOV, bits, asm.R(old), mem)
		e.op(asm.ADD, bits, asm.R(asm.RDX), asm.R(old))
		e.op(asm.MOV, bits, mem, asm.R(asm.RDX))
		if t.Size() < 4 {
			e.canonical(old, t)
		}
		e.op(asm.MOV, slotBits(t), slot(bufResult, t), asm.R(old))
		return nil
	}
	e.op(asm.LOCK_XADD, bits, mem, asm.R(asm.RDX))
	if t.Size() < 4 {
		e.canonical(asm.RDX, t)
	}
	e.op(asm.MOV, slotBits(t), slot(bufResult, t), asm.R(asm.RDX))
	return nil
}

// atomicLoop does an operation for the lane in rax by comparing and exchanging
// until nothing came between.
func (e *emitter) atomicLoop(op ir.Op, t *ir.Type, mem asm.Arg) error {
	bits := 8 * t.Size()
	lane, place, next := e.gpr(), e.gpr(), e.gpr()
	e.op(asm.MOV, 32, asm.R(lane), asm.R(asm.RAX))
	e.op(asm.LEA, 64, asm.R(place), mem)
	at := func(part int32) asm.Arg {
		s := slot(part, t)
		s.Index = lane
		return s
	}
	mem = asm.M(place, 0)
	again := e.newLabel()
	e.op(asm.MOV, bits, asm.R(asm.RAX), mem)
	done := e.newLabel()
	e.depth++
	e.bind(again)
	// rax: what is there; rdx: the operand; next: what shall be there
	e.op(asm.MOV, slotBits(t), asm.R(asm.RDX), at(bufX))
	switch op {
	case ir.OpAtomicCAS:
		e.op(asm.CMP, bits, asm.R(asm.RAX), asm.R(asm.RDX))
		e.jcc(asm.CondNE, done)
		e.op(asm.MOV, slotBits(t), asm.R(next), at(bufY))
	case ir.OpAtomicAnd, ir.OpAtomicOr, ir.OpAtomicXor:
		e.op(asm.MOV, 64, asm.R(next), asm.R(asm.RAX))
		e.op(map[ir.Op]asm.Op{ir.OpAtomicAnd: asm.AND, ir.OpAtomicOr: asm.OR, ir.OpAtomicXor: asm.XOR}[op], bits, asm.R(next), asm.R(asm.RDX))
	case ir.OpAtomicMin, ir.OpAtomicMax:
		e.op(asm.MOV, 64, asm.R(next), asm.R(asm.RAX))
		e.op(asm.CMP, bits, asm.R(asm.RDX), asm.R(asm.RAX))
		e.cmov(minMaxCond(op, t), next, asm.RDX)
	case ir.OpAtomicAdd:
		e.sumFloats(next, t)
	default:
		return fmt.Errorf("no code for %v of %v", op, t)
	}
	e.op(asm.LOCK_CMPXCHG, bits, mem, asm.R(next))
	e.jcc(asm.CondNE, again)
	e.depth--
	e.bind(done)
	e.op(asm.MOV, 64, asm.R(asm.RDX), asm.R(asm.RAX))
	e.canonical(asm.RDX, t)
	e.op(asm.MOV, slotBits(t), at(bufResult), asm.R(asm.RDX))
	return nil
}

// minMaxCond returns the condition under which the first of two compared integers
// of t is the result.
func minMaxCond(op ir.Op, t *ir.Type) asm.Cond {
	switch signed := t.IsSigned(); {
	case op == ir.OpAtomicMin && signed:
		return asm.CondL
	case op == ir.OpAtomicMin:
		return asm.CondB
	case signed:
		return asm.CondG
	}
	return asm.CondA
}

// sumFloats sets next to the sum of the floats whose bits are in rax and rdx; of
// halves it is rounded from the sum in float32.
func (e *emitter) sumFloats(next asm.Reg, t *ir.Type) {
	x, y := e.vec(), e.vec()
	if t.Size() == 8 {
		e.op(asm.VMOVQ, 128, asm.R(x), asm.R(asm.RAX))
		e.op(asm.VMOVQ, 128, asm.R(y), asm.R(asm.RDX))
		e.op(asm.VADDSD, 128, asm.R(x), asm.R(x), asm.R(y))
		e.op(asm.VMOVQ, 128, asm.R(next), asm.R(x))
		return
	}
	e.op(asm.VMOVD, 128, asm.R(x), asm.R(asm.RAX))
	e.op(asm.VMOVD, 128, asm.R(y), asm.R(asm.RDX))
	if !t.IsHalf() {
		e.op(asm.VADDSS, 128, asm.R(x), asm.R(x), asm.R(y))
		e.op(asm.VMOVD, 128, asm.R(next), asm.R(x))
		return
	}
	// Both are in the low lane of a vector that conversions take.
	a, b := e.convertLow(x, t, ir.F32), e.convertLow(y, t, ir.F32)
	s := e.vec()
	e.op(asm.VADDSS, 128, asm.R(s), asm.R(a), asm.R(b))
	e.op(asm.VMOVD, 128, asm.R(next), asm.R(e.convertLow(s, ir.F32, t)))
}
