package amd64

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// load emits *v.Args[0].
func (e *emitter) load(b *analysis.Placed, v *ir.Value) error {
	p := v.Args[0]
	if e.Of(v).Kind == analysis.UniformLanes {
		mem := e.memory(p)
		e.vals[v.ID] = e.loadSame(v.Type, mem)
		if v.Type.IsInt() && v.Type.Size() == 4 { // for operations of vectors, if there are some
			r := e.vec()
			e.broadcastMem(r, v.Type, mem)
			e.near[v] = spreadIn{one(r), e.cur}
		}
		return nil
	}
	a := e.addressOf(p, v.Type.Size())
	m := e.active(b)
	r := e.lanesOf(v.Type)
	e.vals[v.ID] = r
	switch {
	case a.scattered():
		return e.gather(r, v.Type, a, m)
	case a.step == int64(v.Type.Size()):
		e.loadVector(r, v.Type, a.mem, m)
		if m == 0 {
			e.prefetchAhead(b, p, a.mem)
			e.prefetchNextTile(b, p, a.mem, asm.PREFETCHT0)
		}
		return nil
	case a.step == -int64(v.Type.Size()) && v.Type.Size() >= 4 && m == 0:
		e.loadReversed(r, a.mem)
		return nil
	case a.step == 1 && v.Type.Size() == 4 && e.isa == v3:
		e.loadOverlapping(r, v.Type, a, m)
		return nil
	case a.step == 0:
		return fmt.Errorf("a load from one place has shape %v", e.Of(v))
	}
	a.off, a.scale = e.iota32(a.step), 1
	return e.gather(r, v.Type, a, m)
}

// loadSame loads a value that is the same in all lanes.
func (e *code) loadSame(t *ir.Type, mem asm.Arg) val {
	if inVector(t) {
		r := e.vec()
		e.broadcastMem(r, t, mem)
		return val{reg: [2]asm.Reg{r}, n: 1, splat: true}
	}
	r := e.gpr()
	e.loadGeneral(r, t, mem)
	return val{reg: [2]asm.Reg{r}, n: 1}
}

// broadcastMem loads a float into all lanes.
func (e *code) broadcastMem(r asm.Reg, t *ir.Type, mem asm.Arg) {
	switch t.Size() {
	case 8:
		e.op(asm.VBROADCASTSD, e.width(), asm.R(r), mem)
	case 4:
		e.op(asm.VBROADCASTSS, e.width(), asm.R(r), mem)
	default:
		e.op(asm.MOVZXW, 32, asm.R(asm.RAX), mem)
		e.broadcastGeneral(r, asm.RAX)
	}
}

// store emits *v.Args[0] = v.Args[1].
func (e *emitter) store(b *analysis.Placed, v *ir.Value) error {
	p, x := v.Args[0], v.Args[1]
	a := e.addressOf(p, x.Type.Size())
	if e.Of(x).Kind == analysis.UniformLanes && a.step == 0 && !a.scattered() {
		e.storeSame(x, a.mem)
		return nil
	}
	m := e.active(b)
	if m == 0 && a.step == int64(x.Type.Size()) && !a.scattered() {
		e.prefetchNextTile(b, p, a.mem, asm.PREFETCHW)
	}
	return e.storeLanes(e.vectors(x), x.Type, a, m)
}

// storeLanes stores a value for each lane of a mask; of lanes that write one address
// the last wins.
func (e *emitter) storeLanes(x val, t *ir.Type, a address, m asm.Reg) error {
	switch {
	case a.scattered():
		return e.scatter(x, t, a, m)
	case a.step == int64(t.Size()):
		e.storeVector(x, t, a.mem, m)
		return nil
	}
	if e.isa == v3 && t.Size() <= 4 && t.Kind != ir.KBool && a.step != 0 {
		e.scatterRow(x, t, a, m)
		return nil
	}
	a.off, a.scale = e.iota32(a.step), 1
	return e.scatter(x, t, a, m)
}

// storeSame stores a value that is the same in all lanes.
func (e *emitter) storeSame(x *ir.Value, mem asm.Arg) {
	size := x.Type.Size()
	if inVector(x.Type) {
		r := e.vectors(x).reg[0]
		switch size {
		case 8:
			e.op(asm.VMOVSD, 128, mem, asm.R(r))
		case 4:
			e.op(asm.VMOVSS, 128, mem, asm.R(r))
		default:
			e.op(asm.VMOVD, 128, asm.R(asm.RAX), asm.R(r))
			e.op(asm.MOV, 16, mem, asm.R(asm.RAX))
		}
		return
	}
	if x.Op == ir.OpConst && int64(x.Imm) == int64(int32(x.Imm)) {
		e.op(asm.MOV, 8*size, mem, asm.I(int64(int32(x.Imm))))
		return
	}
	e.op(asm.MOV, 8*size, mem, asm.R(e.general64(x)))
}

// clearObject emits *v.Args[0] = 0 for objects of any type.
func (e *emitter) clearObject(b *analysis.Placed, v *ir.Value) error {
	p := v.Args[0]
	a := e.addressOf(p, 1)
	if p.Type.Space == ir.Local && !a.scattered() {
		a.step = 0
	}
	return e.zeroAt(a, p.Type.Elem, p.Type.Space == ir.Local, e.active(b))
}

// unrolled is the length up to which arrays are cleared without a loop.
const unrolled = 16

// zeroAt clears an object of type t; a is the address of its first byte, in local
// memory without the part of the lane.
func (e *emitter) zeroAt(a address, t *ir.Type, local bool, m asm.Reg) (err error) {
	w := int32(1)
	if local {
		w = int32(e.isa.lanes())
	}
	switch {
	case t.Kind == ir.KStruct:
		for i, f := range t.Elems {
			part := a
			part.mem = shifted(a.mem, int32(t.Offset(i))*w)
			if err == nil {
				err = e.zeroAt(part, f, local, m)
			}
		}
		return err
	case t.Kind == ir.KArray && t.Len > unrolled:
		return e.zeroLoop(a, t, local, m)
	case t.Kind == ir.KArray:
		for i := range t.Len {
			part := a
			part.mem = shifted(a.mem, int32(i*t.Elem.Size())*w)
			if err == nil {
				err = e.zeroAt(part, t.Elem, local, m)
			}
		}
		return err
	}
	return e.zeroScalar(a, t, local, m)
}

func (e *emitter) zeroScalar(a address, t *ir.Type, local bool, m asm.Reg) error {
	if !local && !a.scattered() && a.step == 0 {
		e.op(asm.MOV, 8*t.Size(), a.mem, asm.I(0))
		return nil
	}
	if local {
		if a.scattered() {
			return fmt.Errorf("clearing a local object of varying address")
		}
		a.step = int64(t.Size())
	}
	return e.storeLanes(e.zeroLanes(t), t, a, m)
}

// zeroLoop clears a long array.
func (e *emitter) zeroLoop(a address, t *ir.Type, local bool, m asm.Reg) error {
	step := int64(t.Elem.Size())
	if local {
		step *= int64(e.isa.lanes())
	}
	at, left, again := e.gpr(), e.gpr(), e.newLabel()
	e.op(asm.LEA, 64, asm.R(at), a.mem)
	e.op(asm.MOV, 64, asm.R(left), asm.I(int64(t.Len)))
	e.depth++
	e.bind(again)
	part := a
	part.mem = asm.M(at, 0)
	if err := e.zeroAt(part, t.Elem, local, m); err != nil {
		return err
	}
	e.op(asm.ADD, 64, asm.R(at), asm.I(step))
	e.op(asm.SUB, 64, asm.R(left), asm.I(1))
	e.jcc(asm.CondNE, again)
	e.depth--
	e.bind(e.newLabel())
	return nil
}
