package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// gatherNarrow loads values of 1 or 2 bytes from the lanes' own addresses: there are
// gathers of 4 bytes only, so it gathers the words at multiples of 4 that the values
// are in, which lie in the same pages, and shifts.
func (e *emitter) gatherNarrow(r val, t *ir.Type, a address, m asm.Reg) {
	low, base := e.gpr(), e.gpr() // the base, cut down to a multiple of 4, and the rest
	e.op(asm.LEA, 64, asm.R(base), a.mem)
	e.op(asm.COPY, 64, asm.R(low), asm.R(base))
	e.op(asm.AND, 64, asm.R(low), asm.I(3))
	e.op(asm.AND, 64, asm.R(base), asm.I(-4))
	off := a.off
	if off.n == 1 {
		off = e.extend(off, true)
	}
	at := e.add64(e.times64(off, int64(a.scale)), e.splat(one(low), ir.U64))
	words := address{mem: asm.M(base, 0), off: val{n: 2}, scale: 1}
	for h := range 2 {
		words.off.reg[h] = e.vop(e.pick(asm.VPAND, asm.VPANDQ), asm.R(at.reg[h]), e.all64(^uint64(3)))
	}
	got := one(e.vec())
	if e.isa == v3 {
		e.gather3(got, ir.U32, words, m)
	} else {
		e.gather4(got, ir.U32, words, m)
	}
	and := e.pick(asm.VPAND, asm.VPANDD)
	bits := e.vop(asm.VPSLLD, asm.R(e.truncate(at).reg[0]), asm.I(3))
	bits = e.vop(and, asm.R(bits), e.all32(24))
	x := e.vxx(asm.VPSRLVD, got.reg[0], bits)
	width := 8 * int64(t.Size())
	switch {
	case t.IsSigned():
		x = e.vop(asm.VPSLLD, asm.R(x), asm.I(32-width))
		e.op(asm.VPSRAD, e.width(), asm.R(r.reg[0]), asm.R(x), asm.I(32-width))
	case t.Kind == ir.KBool:
		e.truth(r.reg[0], e.vop(and, asm.R(x), e.all32(0xff)))
	default:
		e.op(and, e.width(), asm.R(r.reg[0]), asm.R(x), e.all32(1<<width-1))
	}
}
