package amd64

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Where values are. What is uniform or affine is kept once: integers, pointers and
// bools in a general register (of affine ones the value of lane 0), floats in a
// vector whose lanes are equal. What varying operations want of these as vectors
// is made where they are defined, once.

// place returns new registers for v.
func (e *emitter) place(v *ir.Value) val {
	switch {
	case e.Of(v).Kind == analysis.VaryingLanes:
		return e.lanesOf(v.Type)
	case inVector(v.Type):
		return val{reg: [2]asm.Reg{e.vec()}, n: 1, splat: true}
	}
	return one(e.gpr())
}

// kept returns where v is as it is kept.
func (e *emitter) kept(v *ir.Value) val {
	switch {
	case v.Op == ir.OpConst && inVector(v.Type):
		return e.constantVector(v)
	case v.Op == ir.OpConst || e.lazy[v.ID] && e.Of(v).Kind != analysis.VaryingLanes:
		return one(e.general64(v))
	}
	return e.vals[v.ID]
}

// constantVector returns a constant in all lanes of a vector.
func (c *code) constantVector(v *ir.Value) val {
	r := val{n: 1, splat: true}
	if v.Type.Size() == 8 {
		r.reg[0] = c.constant64(v.Imm)
	} else {
		r.reg[0] = c.constant32(uint32(v.Imm))
	}
	return r
}

// as returns v as a value of shape s is kept.
func (e *emitter) as(v *ir.Value, s analysis.Shape) (val, error) {
	if s.Kind == analysis.VaryingLanes {
		return e.vectors(v), nil
	}
	if have := e.Of(v); have.Kind > s.Kind || have.Step != s.Step {
		return val{}, fmt.Errorf("a value of shape %v is wanted with shape %v", have, s)
	}
	return e.kept(v), nil
}

// vectors returns v with a lane for each thread; bools as masks.
func (e *emitter) vectors(v *ir.Value) val {
	switch {
	case v.Op == ir.OpConst:
		return e.constantLanes(v)
	case e.lazy[v.ID] && v.Op == ir.OpConvert:
		return e.extend(e.vectors(v.Args[0]), v.Args[0].Type.IsSigned())
	case e.Of(v).Kind == analysis.VaryingLanes && e.lazy[v.ID]:
		return e.wholePointer(v)
	case e.Of(v).Kind == analysis.VaryingLanes:
		return e.vals[v.ID]
	case e.spreads[v.ID].n > 0:
		return e.spreads[v.ID]
	}
	r := e.spreadNow(v)
	e.near[v] = spreadIn{r, e.cur}
	return r
}

// spreadNear returns the vector of a value kept once, or of an integer with the same bits, if one was
// made in this block of the code.
func (e *emitter) spreadNear(v *ir.Value) (val, bool) {
	near := e.near[v]
	if near.in == nil && v.Op == ir.OpConvert && v.Type.IsInt() && v.Type.Size() == 4 && v.Args[0].Type.IsInt() && v.Args[0].Type.Size() == 4 {
		near = e.near[v.Args[0]]
	}
	return near.val, near.in == e.cur && near.in != nil
}

// constantLanes returns a constant in all lanes.
func (c *code) constantLanes(v *ir.Value) val {
	switch {
	case v.Type.Kind == ir.KBool:
		return one(c.constantMask(v.Imm != 0))
	case !inVector(v.Type) && v.Type.Size() == 8:
		r := c.constant64(v.Imm)
		return val{reg: [2]asm.Reg{r, r}, n: 2}
	}
	r := c.constantVector(v)
	r.splat = inVector(v.Type)
	return r
}

func (e *code) constantMask(all bool) asm.Reg {
	m := e.mask()
	e.clearMask(m)
	if all {
		return e.maskNot(m)
	}
	return m
}

func (e *emitter) allLanes() asm.Reg { return e.constantMask(true) }

// spreadNow makes the vectors of a value that is kept once.
func (e *emitter) spreadNow(v *ir.Value) val {
	if r, ok := e.spreadNear(v); ok {
		return r
	}
	r := e.splat(e.kept(v), v.Type)
	if s := e.Of(v); s.Kind == analysis.AffineLanes {
		r = e.add64(r, e.iota64(s.Step))
	}
	return r
}

// wholePointer returns a pointer that varies as a number.
func (e *emitter) wholePointer(v *ir.Value) val {
	a := e.addressOf(v, 0)
	base := e.gpr()
	e.op(asm.LEA, 64, asm.R(base), a.mem)
	off := a.off
	if off.n == 1 {
		off = e.extend(off, true)
	}
	return e.add64(e.splat(one(base), ir.U64), e.times64(off, int64(a.scale)))
}

// maskOf returns the lanes in which a bool is true.
func (e *emitter) maskOf(v *ir.Value) asm.Reg { return e.vectors(v).reg[0] }

// wide64 returns an integer of any width in 64-bit lanes.
func (e *emitter) wide64(v *ir.Value) val {
	x := e.vectors(v)
	if v.Type.Size() == 8 {
		return x
	}
	return e.extend(x, v.Type.IsSigned())
}

// blendInto copies a value into registers for the lanes of a mask.
func (e *emitter) blendInto(d, s val, m asm.Reg) {
	if d.n == 1 && d.reg[0].Class() == asm.Mask {
		a, b := e.mask(), e.mask()
		e.maskAndNot(a, d.reg[0], m)
		e.maskAnd(b, s.reg[0], m)
		e.copy(d.reg[0], a)
		e.maskOr(d.reg[0], b, false)
		return
	}
	for h := range int(d.n) {
		e.mergeHalf(d.reg[h], half(s, h), d.n == 2, h, m)
	}
}

// mergeHalf copies a vector for the lanes of a mask.
func (e *emitter) mergeHalf(d, s asm.Reg, wide bool, h int, m asm.Reg) {
	if e.isa == v3 {
		if wide {
			m = e.halfMask3(m, h)
		}
		e.op(asm.VBLENDVPS, 256, asm.R(d), asm.R(d), asm.R(s), asm.R(m))
		return
	}
	op := asm.VMOVDQU32
	if wide {
		op = asm.VMOVDQU64
	}
	if h == 1 {
		m = e.highMask(m)
	}
	e.masked(op, 512, m, false, asm.R(d), asm.R(s))
}

// source64 is the operand for a uniform or affine integer in 64 bits.
func (e *emitter) source64(v *ir.Value) asm.Arg {
	if n := int64(v.Imm); v.Op == ir.OpConst && n == int64(int32(n)) {
		return asm.I(n)
	}
	return asm.R(e.general64(v))
}

// compare64 compares two uniform or affine integers.
func (e *emitter) compare64(x, y *ir.Value) {
	e.op(asm.CMP, 64, asm.R(e.general64(x)), e.source64(y))
}

// jumpUnless jumps when a uniform bool is false.
func (e *emitter) jumpUnless(v *ir.Value, to label) error {
	switch {
	case e.fused[v.ID]:
		e.compare64(v.Args[0], v.Args[1])
		e.jcc(condition(v.Op, v.Args[0].Type)^1, to) // the opposite condition
	case v.Op == ir.OpConst:
		if v.Imm == 0 {
			e.jump(to)
			e.bind(e.newLabel())
		}
	default:
		r := e.general64(v)
		e.op(asm.TEST, 32, asm.R(r), asm.R(r))
		e.jcc(asm.CondE, to)
	}
	return nil
}
