package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// Memory of the lanes on x86-64-v3. Only accesses of 4 and 8 bytes have masks; the
// others are done as one when all lanes are on, else lane by lane.

// halfMask3 returns the mask of one half of the lanes, as 64-bit lanes.
func (e *code) halfMask3(m asm.Reg, h int) asm.Reg {
	if m == 0 {
		return 0
	}
	r := e.vec()
	if h == 1 {
		m = e.upper(m)
	}
	e.op(asm.VPMOVSXDQ, 256, asm.R(r), asm.R(m))
	return r
}

// onePage emits one of two codes: for when a load of all lanes is one of memory that is
// there, as it lies in a page of which some lane that is on loads something, or not. What
// the other lanes load nobody looks at.
func (e *emitter) onePage(mem asm.Arg, t *ir.Type, m asm.Reg, all, some func()) {
	if m == 0 {
		all()
		return
	}
	const page = 4096
	other, done := e.newLabel(), e.newLabel()
	e.bits(asm.RAX, m)
	e.op(asm.TEST, 32, asm.R(asm.RAX), asm.R(asm.RAX))
	e.jcc(asm.CondE, other)
	e.op(asm.LEA, 64, asm.R(asm.RAX), mem)
	e.op(asm.AND, 32, asm.R(asm.RAX), asm.I(page-1))
	e.op(asm.CMP, 32, asm.R(asm.RAX), asm.I(int64(page-e.isa.lanes()*t.Size())))
	e.jcc(asm.CondA, other)
	all()
	e.jump(done)
	e.bind(other)
	some()
	e.bind(done)
}

func (e *emitter) loadVector3(r val, t *ir.Type, mem asm.Arg, m asm.Reg) {
	switch {
	case t.Size() >= 4 && m == 0:
		for h := range r.n {
			e.op(asm.VMOVUPS, 256, asm.R(r.reg[h]), shifted(mem, 32*int32(h)))
		}
		return
	case t.Size() == 8:
		e.op(asm.VPMASKMOVQ, 256, asm.R(r.reg[0]), asm.R(e.halfMask3(m, 0)), mem)
		e.op(asm.VPMASKMOVQ, 256, asm.R(r.reg[1]), asm.R(e.halfMask3(m, 1)), shifted(mem, 32))
		return
	case t.Size() == 4:
		e.op(asm.VPMASKMOVD, 256, asm.R(r.reg[0]), asm.R(m), mem)
		return
	}
	op := asm.VPMOVZXBD
	switch {
	case t.Size() == 2 && t.IsSigned():
		op = asm.VPMOVSXWD
	case t.Size() == 2:
		op = asm.VPMOVZXWD
	case t.IsSigned():
		op = asm.VPMOVSXBD
	}
	e.onePage(mem, t, m, func() {
		x := r.reg[0]
		if t.Kind == ir.KBool {
			x = e.vec()
		}
		e.op(op, 256, asm.R(x), mem)
		if t.Kind == ir.KBool {
			e.truth(r.reg[0], x)
		}
	}, func() {
		e.gatherEach(r, t, address{mem: mem, step: int64(t.Size())}, m)
	})
}

// loadOverlapping loads the four bytes from each of neighbouring bytes on.
func (e *emitter) loadOverlapping(r val, t *ir.Type, a address, m asm.Reg) {
	pattern := []uint32{0x03020100, 0x04030201, 0x05040302, 0x06050403, 0x07060504, 0x08070605, 0x09080706, 0x0a090807}
	gather := func() {
		a.off, a.scale = e.iota32(a.step), 1
		if a.mem.Index != 0 {
			p := e.gpr()
			e.op(asm.LEA, 64, asm.R(p), a.mem)
			a.mem = asm.M(p, 0)
		}
		e.gather3(r, t, a, m)
	}
	if m == 0 { // the last of the 16 bytes may not be there
		gather()
		return
	}
	e.onePage(a.mem, ir.U16, m, func() {
		x := e.vec()
		e.op(asm.VBROADCASTI128, 256, asm.R(x), a.mem)
		e.op(asm.VPSHUFB, 256, asm.R(r.reg[0]), asm.R(x), e.pool(pattern))
	}, gather)
}

func (e *emitter) storeVector3(x val, t *ir.Type, mem asm.Arg, m asm.Reg) {
	switch {
	case t.Size() >= 4: // a store with a mask takes some processors 18 cycles
		e.whole(m, func() {
			for h := range t.Size() / 4 {
				e.op(asm.VMOVUPS, 256, shifted(mem, 32*int32(h)), asm.R(half(x, h)))
			}
		}, func() { e.storeMasked3(x, t, mem, m) })
		return
	}
	e.whole(m, func() { e.storeNarrow3(x, t, mem) }, func() {
		e.scatterEach(x, t, address{mem: mem, step: int64(t.Size())}, m)
	})
}

// storeMasked3 stores values of 4 or 8 bytes of the lanes of a mask.
func (e *emitter) storeMasked3(x val, t *ir.Type, mem asm.Arg, m asm.Reg) {
	if t.Size() == 4 {
		e.op(asm.VPMASKMOVD, 256, mem, asm.R(m), asm.R(x.reg[0]))
		return
	}
	for h := range 2 {
		e.op(asm.VPMASKMOVQ, 256, shifted(mem, 32*int32(h)), asm.R(e.halfMask3(m, h)), asm.R(half(x, h)))
	}
}

// storeNarrow3 stores the low bytes of all lanes.
func (e *emitter) storeNarrow3(x val, t *ir.Type, mem asm.Arg) {
	if t.Kind == ir.KBool {
		x = e.bytesOf(x)
	}
	const bytesLow = 0x0c080400
	s, q, r := e.vec(), e.vec(), e.vec()
	if t.Kind == ir.KF16 && e.storeHalf(x.reg[0], mem, 0) {
		return
	}
	if t.Size() == 2 {
		pattern := []uint32{0x05040100, 0x0d0c0908, 0x80808080, 0x80808080}
		e.op(asm.VPSHUFB, 256, asm.R(s), asm.R(x.reg[0]), e.pool(append(pattern, pattern...)))
		e.op(asm.VPERMQ, 256, asm.R(q), asm.R(s), asm.I(0x08))
		e.op(asm.VMOVUPS, 128, mem, asm.R(q))
		return
	}
	pattern := []uint32{bytesLow, 0x80808080, 0x80808080, 0x80808080}
	e.op(asm.VPSHUFB, 256, asm.R(s), asm.R(x.reg[0]), e.pool(append(pattern, pattern...)))
	e.op(asm.VEXTRACTI128, 256, asm.R(q), asm.R(s), asm.I(1))
	e.op(asm.VPUNPCKLDQ, 128, asm.R(r), asm.R(s), asm.R(q))
	e.op(asm.VMOVQ, 128, mem, asm.R(r))
}

// gather3 loads 4- and 8-byte values.
func (e *emitter) gather3(r val, t *ir.Type, a address, m asm.Reg) {
	one := func(op asm.Op, width int, dst, index, m asm.Reg) {
		k := e.vec()
		if m == 0 {
			e.op(asm.UNDEF, 256, asm.R(k))
			e.op(asm.VPCMPEQD, 256, asm.R(k), asm.R(k), asm.R(k))
		} else {
			e.copy(k, m)
		}
		e.clear(dst)
		e.op(op, width, asm.R(dst), indexed(a, index), asm.R(k))
	}
	small := a.off.n == 1
	switch {
	case t.Size() == 8 && small:
		one(asm.VPGATHERDQ, 256, r.reg[0], a.off.reg[0], e.halfMask3(m, 0))
		one(asm.VPGATHERDQ, 256, r.reg[1], e.upper(a.off.reg[0]), e.halfMask3(m, 1))
	case t.Size() == 8:
		one(asm.VPGATHERQQ, 256, r.reg[0], a.off.reg[0], e.halfMask3(m, 0))
		one(asm.VPGATHERQQ, 256, r.reg[1], a.off.reg[1], e.halfMask3(m, 1))
	case small:
		one(asm.VPGATHERDD, 256, r.reg[0], a.off.reg[0], m)
	default:
		lo, hi := e.vec(), e.vec()
		one(asm.VPGATHERQD, 256, lo, a.off.reg[0], m)
		one(asm.VPGATHERQD, 256, hi, a.off.reg[1], e.upperMask(m))
		e.op(asm.VINSERTI128, 256, asm.R(r.reg[0]), asm.R(lo), asm.R(hi), asm.I(1))
	}
}

// upperMask returns the mask of the upper half of the lanes.
func (e *emitter) upperMask(m asm.Reg) asm.Reg {
	if m == 0 {
		return 0
	}
	return e.upper(m)
}
