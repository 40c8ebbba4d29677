package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// What both levels have: vectors of lanes in registers.

// loadVector loads neighbouring values for the lanes of a mask.
func (e *emitter) loadVector(r val, t *ir.Type, mem asm.Arg, m asm.Reg) {
	if e.isa == v3 {
		e.loadVector3(r, t, mem, m)
	} else {
		e.loadVector4(r, t, mem, m)
	}
}

// loadReversed loads values of 4 or 8 bytes, of which each lane's lies before that of the
// lane below it: a contiguous vector whose order a permutation reverses takes one load, a
// gather as many as there are lanes.
func (e *emitter) loadReversed(r val, mem asm.Arg) {
	n := e.isa.lanes() / int(r.n) // values of a register
	for h := range r.n {
		// The last lane of the register has the lowest address.
		first := shifted(mem, -int32((n*int(h+1)-1)*4*int(r.n)))
		switch {
		case r.n == 1:
			e.op(asm.VPERMD, e.width(), asm.R(r.reg[h]), asm.R(e.descending(n, 1)), first)
		case e.isa == v3:
			e.op(asm.VPERMQ, 256, asm.R(r.reg[h]), first, asm.I(0x1b))
		default:
			e.op(asm.VPERMQ, 512, asm.R(r.reg[h]), asm.R(e.descending(n, 2)), first)
		}
	}
}

// storeVector stores neighbouring values of the lanes of a mask.
func (e *emitter) storeVector(x val, t *ir.Type, mem asm.Arg, m asm.Reg) {
	if e.isa == v3 {
		e.storeVector3(x, t, mem, m)
	} else {
		e.storeVector4(x, t, mem, m)
	}
}

// gather loads values from the lanes' own addresses.
func (e *emitter) gather(r val, t *ir.Type, a address, m asm.Reg) error {
	switch a = e.plainBase(a); {
	case t.Size() < 4:
		e.gatherNarrow(r, t, a, m)
	case e.isa == v3:
		e.gather3(r, t, a, m)
	default:
		e.gather4(r, t, a, m)
	}
	return nil
}

// gatherWide loads 64-bit values.
func (e *emitter) gatherWide(r val, a address, m asm.Reg) {
	if e.isa == v3 {
		e.gather3(r, ir.I64, a, m)
	} else {
		e.gather4(r, ir.I64, a, m)
	}
}

// scatter stores values to the lanes' own addresses.
func (e *emitter) scatter(x val, t *ir.Type, a address, m asm.Reg) error {
	if a = e.plainBase(a); e.isa == v3 || t.Size() < 4 {
		e.scatterEach(x, t, a, m)
	} else {
		e.scatter4(x, t, a, m)
	}
	return nil
}

// plainBase makes the address to which offsets are added one register: its index
// is taken by the offsets.
func (e *emitter) plainBase(a address) address {
	if a.mem.Index != 0 {
		r := e.gpr()
		e.op(asm.LEA, 64, asm.R(r), a.mem)
		a.mem = asm.M(r, 0)
	}
	return a
}

// zeroLanes returns zero of type t in all lanes.
func (e *emitter) zeroLanes(t *ir.Type) val {
	r := e.lanesOf(t)
	for i := range r.n {
		if t.Kind == ir.KBool {
			e.clearMask(r.reg[i])
			continue
		}
		e.clear(r.reg[i])
	}
	return r
}
