package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// Memory of the lanes on x86-64-v4: every access has a mask, so that lanes that are
// off are not touched and do not fault.

// highMask returns the mask of the upper half of the lanes, those of 64-bit values
// in the second vector.
func (e *code) highMask(m asm.Reg) asm.Reg {
	if m == 0 {
		return 0
	}
	h := e.mask()
	e.op(asm.KSHIFTRW, 16, asm.R(h), asm.R(m), asm.I(8))
	return h
}

func (e *emitter) loadVector4(r val, t *ir.Type, mem asm.Arg, m asm.Reg) {
	signed := t.IsSigned()
	switch {
	case t.Kind == ir.KBool:
		v := e.vec()
		e.masked(asm.VPMOVZXBD, 512, m, true, asm.R(v), mem)
		e.op(asm.VPTESTMD, 512, asm.R(r.reg[0]), asm.R(v), asm.R(v))
	case t.Size() == 8:
		e.masked(asm.VMOVDQU64, 512, m, true, asm.R(r.reg[0]), mem)
		e.masked(asm.VMOVDQU64, 512, e.highMask(m), true, asm.R(r.reg[1]), shifted(mem, 64))
	case t.Size() == 4:
		e.masked(asm.VMOVDQU32, 512, m, true, asm.R(r.reg[0]), mem)
	case t.Size() == 2 && signed:
		e.masked(asm.VPMOVSXWD, 512, m, true, asm.R(r.reg[0]), mem)
	case t.Size() == 2:
		e.masked(asm.VPMOVZXWD, 512, m, true, asm.R(r.reg[0]), mem)
	case signed:
		e.masked(asm.VPMOVSXBD, 512, m, true, asm.R(r.reg[0]), mem)
	default:
		e.masked(asm.VPMOVZXBD, 512, m, true, asm.R(r.reg[0]), mem)
	}
}

func (e *emitter) storeVector4(x val, t *ir.Type, mem asm.Arg, m asm.Reg) {
	switch {
	case t.Kind == ir.KBool:
		e.masked(asm.VPMOVDB, 512, m, false, mem, asm.R(e.bytesOf(x).reg[0]))
	case t.Size() == 8:
		e.masked(asm.VMOVDQU64, 512, m, false, mem, asm.R(half(x, 0)))
		e.masked(asm.VMOVDQU64, 512, e.highMask(m), false, shifted(mem, 64), asm.R(half(x, 1)))
	case t.Size() == 4:
		e.masked(asm.VMOVDQU32, 512, m, false, mem, asm.R(x.reg[0]))
	case t.Kind == ir.KF16 && e.storeHalf(x.reg[0], mem, m):
	case t.Size() == 2:
		e.masked(asm.VPMOVDW, 512, m, false, mem, asm.R(x.reg[0]))
	default:
		e.masked(asm.VPMOVDB, 512, m, false, mem, asm.R(x.reg[0]))
	}
}

// indexed returns the memory operand of a gather or scatter.
func indexed(a address, index asm.Reg) asm.Arg {
	return asm.Arg{Kind: asm.MemArg, Reg: a.mem.Reg, Index: index, Scale: a.scale, Disp: a.mem.Disp}
}

// ownMask returns a copy of a mask that the instruction clears.
func (e *emitter) ownMask(m asm.Reg) asm.Reg {
	k := e.mask()
	if m == 0 {
		e.op(asm.UNDEF, 16, asm.R(k))
		e.op(asm.KXNORW, 16, asm.R(k), asm.R(k), asm.R(k))
	} else {
		e.copy(k, m)
	}
	return k
}

// gather4 loads 4- and 8-byte values.
func (e *emitter) gather4(r val, t *ir.Type, a address, m asm.Reg) {
	one := func(op asm.Op, width int, dst, index, m asm.Reg) {
		k := e.ownMask(m)
		e.clear(dst)
		in := e.op(op, width, asm.R(dst), indexed(a, index))
		in.Mask = k
	}
	small := a.off.n == 1
	switch {
	case t.Size() == 8 && small:
		one(asm.VPGATHERDQK, 512, r.reg[0], a.off.reg[0], m)
		one(asm.VPGATHERDQK, 512, r.reg[1], e.upper(a.off.reg[0]), e.highMask(m))
	case t.Size() == 8:
		one(asm.VPGATHERQQK, 512, r.reg[0], a.off.reg[0], m)
		one(asm.VPGATHERQQK, 512, r.reg[1], a.off.reg[1], e.highMask(m))
	case small:
		one(asm.VPGATHERDDK, 512, r.reg[0], a.off.reg[0], m)
	default:
		lo, hi := e.vec(), e.vec()
		one(asm.VPGATHERQDK, 512, lo, a.off.reg[0], m)
		one(asm.VPGATHERQDK, 512, hi, a.off.reg[1], e.highMask(m))
		e.op(asm.VINSERTI64X4, 512, asm.R(r.reg[0]), asm.R(lo), asm.R(hi), asm.I(1))
	}
}

// scatter4 stores 4- and 8-byte values.
func (e *emitter) scatter4(x val, t *ir.Type, a address, m asm.Reg) {
	one := func(op asm.Op, src, index, m asm.Reg) {
		k := e.ownMask(m)
		in := e.op(op, 512, indexed(a, index), asm.R(src))
		in.Mask = k
	}
	small := a.off.n == 1
	switch {
	case t.Size() == 8 && small:
		one(asm.VPSCATTERDQ, half(x, 0), a.off.reg[0], m)
		one(asm.VPSCATTERDQ, half(x, 1), e.upper(a.off.reg[0]), e.highMask(m))
	case t.Size() == 8:
		one(asm.VPSCATTERQQ, half(x, 0), a.off.reg[0], m)
		one(asm.VPSCATTERQQ, half(x, 1), a.off.reg[1], e.highMask(m))
	case small:
		one(asm.VPSCATTERDD, x.reg[0], a.off.reg[0], m)
	default:
		one(asm.VPSCATTERQD, x.reg[0], a.off.reg[0], m)
		one(asm.VPSCATTERQD, e.upper(x.reg[0]), a.off.reg[1], e.highMask(m))
	}
}
