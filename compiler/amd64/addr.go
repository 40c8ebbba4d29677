package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Addresses. A pointer that is the same in all lanes, or goes up by a constant from
// lane to lane, is one number, of lane 0. Others are never made as a whole: an
// access adds the offsets of the lanes to the address that the pointer comes from.
//
// Local memory of the lanes is interleaved: what lies at offset o of a thread's
// object is at o times the lanes of a vector in the frame, behind it that of the
// other lanes. So lanes that read one variable read a vector.

// shifted returns the operand disp bytes behind m.
func shifted(m asm.Arg, disp int32) asm.Arg {
	m.Disp += disp
	return m
}

// scaleOf returns by how much an index of pointer v is multiplied.
func (e *emitter) scaleOf(v *ir.Value) int64 {
	n := int64(v.Type.Elem.Size())
	if v.Type.Space == ir.Local {
		n *= int64(e.isa.lanes())
	}
	return n
}

// fieldOf returns the distance of a field from its struct.
func (e *emitter) fieldOf(v *ir.Value) int64 {
	n := int64(v.Args[0].Type.Elem.Offset(int(v.Imm)))
	if v.Type.Space == ir.Local {
		n *= int64(e.isa.lanes())
	}
	return n
}

func isPath(v *ir.Value) bool {
	return v.Op == ir.OpIndex || v.Op == ir.OpOffset || v.Op == ir.OpField
}

// findLazy marks the pointers that are not made, because all their users can form
// them as they access memory.
func (e *emitter) findLazy() {
	e.lazy = make([]bool, len(e.Shapes))
	for i := range e.Blocks {
		for _, v := range e.Blocks[i].Block.Instrs {
			e.lazy[v.ID] = isPath(v) && (e.Of(v).Kind == analysis.VaryingLanes || e.formable(v)) || e.isSum(v) || e.isWidening(v)
		}
	}
	for i := range e.Blocks {
		b := e.Blocks[i].Block
		for _, v := range b.Instrs {
			for n, x := range v.Args {
				if e.lazy[x.ID] && (e.Of(x).Kind != analysis.VaryingLanes || !isPath(x)) && !e.formsItself(v, n, x) {
					e.lazy[x.ID] = false
				}
			}
		}
		e.notLazy(b.Term.Args)
		for _, s := range b.Term.Succs {
			e.notLazy(s.Args)
		}
	}
}

// isWidening reports whether v makes 64 bits of narrower integers that vary: gathers
// do so themselves.
func (e *emitter) isWidening(v *ir.Value) bool {
	return v.Op == ir.OpConvert && analysis.Wide(v.Type) && v.Args[0].Type.IsInt() && !analysis.Wide(v.Args[0].Type) && e.Of(v).Kind == analysis.VaryingLanes
}

// formsItself reports whether v, whose operand n is the lazy value x, does without x
// in a register.
func (e *emitter) formsItself(v *ir.Value, n int, x *ir.Value) bool {
	switch x.Op {
	case ir.OpConvert:
		return n == 1 && isPath(v) && e.Of(v).Kind == analysis.VaryingLanes || n == 0 && v.Op == ir.OpBounds && e.isShort(v)
	case ir.OpAdd:
		return v.Op == ir.OpBounds && n == 0 || isPath(v) && n == 1 && e.Of(v).Kind != analysis.VaryingLanes && (e.lazy[v.ID] || !e.formable(v) && fitsMultiple(x, e.scaleOf(v)))
	}
	return n == 0 && (isAccess(v.Op) || e.lazy[v.ID] && isPath(v) && isDisp(v))
}

func (e *emitter) notLazy(list []*ir.Value) {
	for _, v := range list {
		if e.Of(v).Kind != analysis.VaryingLanes || !isPath(v) {
			e.lazy[v.ID] = false
		}
	}
}

// isAccess reports whether operand 0 of op is the address of what it accesses.
func isAccess(op ir.Op) bool {
	return op == ir.OpLoad || op == ir.OpLoadBytes || op == ir.OpStore
}

// isDisp reports whether a path adds a constant.
func isDisp(v *ir.Value) bool { return v.Op == ir.OpField || v.Args[1].IsConst() }

// formable reports whether an operand of an instruction can be the memory that a
// uniform or affine pointer points to.
func (e *emitter) formable(v *ir.Value) bool {
	if isDisp(v) {
		_, ok := e.dispOf(v)
		return ok
	}
	switch e.scaleOf(v) {
	case 1, 2, 4, 8:
		return true
	}
	return false
}

// dispOf returns the constant that a path adds, if it fits.
func (e *emitter) dispOf(v *ir.Value) (int32, bool) {
	if v.Op == ir.OpField {
		n := e.fieldOf(v)
		return int32(n), n < 1<<30
	}
	c := int64(v.Args[1].Imm)
	if c > 1<<28 || c < -1<<28 {
		return 0, false
	}
	n := c * e.scaleOf(v)
	return int32(n), n < 1<<30 && n > -1<<30
}

// memory returns the operand that a uniform or affine pointer points to.
func (e *emitter) memory(p *ir.Value) asm.Arg {
	if !e.lazy[p.ID] {
		return asm.M(e.general64(p), 0)
	}
	if isDisp(p) {
		d, _ := e.dispOf(p)
		return shifted(e.memory(p.Args[0]), d)
	}
	base, scale := e.general64(p.Args[0]), e.scaleOf(p)
	i := p.Args[1]
	if e.lazy[i.ID] {
		x, c := sumOf(i)
		return asm.MX(base, e.general64(x), uint8(scale), int32(c*scale))
	}
	return asm.MX(base, e.general64(i), uint8(scale), 0)
}

// sumOf returns the operand and the constant of a lazy sum.
func sumOf(v *ir.Value) (x *ir.Value, c int64) { return v.Args[0], int64(v.Args[1].Imm) }

// isSum reports whether v adds a small constant to a 64-bit integer: addresses have
// room for it.
func (e *emitter) isSum(v *ir.Value) bool {
	if v.Op != ir.OpAdd || !analysis.Wide(v.Type) || !v.Args[1].IsConst() || e.Of(v).Kind == analysis.VaryingLanes {
		return false
	}
	c := int64(v.Args[1].Imm)
	return c < 1<<24 && c > -1<<24
}

// pointer makes a uniform or affine pointer that is not lazy.
func (e *emitter) pointer(v *ir.Value) error {
	r := e.gpr()
	e.vals[v.ID] = val{reg: [2]asm.Reg{r}, n: 1}
	base := v.Args[0]
	if isDisp(v) {
		if d, ok := e.dispOf(v); ok {
			e.op(asm.LEA, 64, asm.R(r), shifted(e.memory(base), d))
			return nil
		}
	}
	scale := e.scaleOf(v)
	if v.Op == ir.OpField {
		e.op(asm.MOV, 64, asm.R(asm.RAX), asm.I(e.fieldOf(v)))
		e.op(asm.LEA, 64, asm.R(r), asm.MX(e.general64(base), asm.RAX, 1, 0))
		return nil
	}
	switch scale {
	case 1, 2, 4, 8:
		e.op(asm.LEA, 64, asm.R(r), asm.MX(e.general64(base), e.general64(v.Args[1]), uint8(scale), 0))
	default:
		x, d := e.multiple(v.Args[1], scale)
		e.op(asm.LEA, 64, asm.R(r), asm.MX(e.general64(base), x, 1, d))
	}
	return nil
}

// fitsMultiple reports whether instructions have room for the constant of a sum times scale.
func fitsMultiple(sum *ir.Value, scale int64) bool {
	_, c := sumOf(sum)
	return scale < 1<<32 && c*scale < 1<<30 && c*scale > -1<<30
}

// multiple returns a register and a constant that add up to index times scale. What
// neighbouring rows have in common is multiplied once in a block.
func (e *emitter) multiple(index *ir.Value, scale int64) (asm.Reg, int32) {
	d := int64(0)
	if e.isSum(index) && fitsMultiple(index, scale) {
		x, c := sumOf(index)
		index, d = x, c*scale
	}
	key := product{index, scale}
	r := e.products[key]
	if r == 0 {
		r = e.gpr()
		e.op(asm.IMUL, 64, asm.R(r), asm.R(e.general64(index)), asm.I(scale))
		e.products[key] = r
	}
	return r, int32(d)
}

// general64 returns the general register that holds a uniform or affine integer or
// pointer.
func (e *emitter) general64(v *ir.Value) asm.Reg {
	if v.Op == ir.OpConst {
		r := e.gpr()
		e.op(asm.MOV, 64, asm.R(r), asm.I(int64(v.Imm)))
		return r
	}
	if e.lazy[v.ID] && v.Op == ir.OpAdd {
		r := e.gpr()
		x, c := sumOf(v)
		e.op(asm.LEA, 64, asm.R(r), asm.M(e.general64(x), int32(c)))
		return r
	}
	if e.lazy[v.ID] { // a base of a path that is formed at its access
		r := e.gpr()
		e.op(asm.LEA, 64, asm.R(r), e.memory(v))
		return r
	}
	return e.vals[v.ID].reg[0]
}

// addressOf returns where the lanes access a value of size bytes through p.
func (e *emitter) addressOf(p *ir.Value, size int) address {
	local := p.Type.Space == ir.Local
	if s := e.Of(p); s.Kind != analysis.VaryingLanes {
		a := address{mem: e.memory(p), step: s.Step}
		if local {
			a.step = int64(size)
		}
		return a
	}
	// Walk back to what is uniform or affine, and gather what the lanes add.
	sum := offsets{e: e, mem32: local || p.Type.Space == ir.Shared || p.Type.Space == ir.Constant}
	if local {
		sum.step = int64(size)
	}
	disp := int64(0)
	for ; isPath(p) && e.Of(p).Kind == analysis.VaryingLanes; p = p.Args[0] {
		if d, ok := int32(0), false; isDisp(p) {
			if d, ok = e.dispOf(p); ok {
				disp += int64(d)
				continue
			}
		}
		if p.Op == ir.OpField {
			disp += e.fieldOf(p)
			continue
		}
		sum.add(p.Args[1], e.scaleOf(p))
	}
	a := address{}
	if e.Of(p).Kind == analysis.VaryingLanes { // a pointer that lanes chose: its own value is the offset
		sum.add(p, 1)
		sum.mem32 = false
		zero := e.gpr()
		e.op(asm.MOV, 32, asm.R(zero), asm.I(0))
		a.mem = asm.M(zero, 0)
	} else {
		a.mem = e.memory(p)
		if s := e.Of(p); s.Kind == analysis.AffineLanes {
			sum.step += s.Step
		}
	}
	if disp != int64(int32(disp)) || a.mem.Index != 0 || int64(a.mem.Disp)+disp != int64(int32(int64(a.mem.Disp)+disp)) {
		r := e.gpr()
		e.op(asm.MOV, 64, asm.R(asm.RAX), asm.I(disp))
		e.op(asm.LEA, 64, asm.R(r), a.mem)
		e.op(asm.ADD, 64, asm.R(r), asm.R(asm.RAX))
		a.mem, disp = asm.M(r, 0), 0
	}
	a.mem.Disp += int32(disp)
	a.off, a.scale = sum.total()
	return a
}

// inRow reports whether the indices that v checks go up or down by a constant from lane
// to lane, and their length is the same for all.
func (e *emitter) inRow(v *ir.Value) bool {
	s := e.Of(v.Args[0])
	return s.Kind == analysis.AffineLanes && e.Of(v.Args[1]).Kind == analysis.UniformLanes && max(s.Step, -s.Step)*int64(e.isa.lanes()-1) < maxSpan
}

// span returns how far the least and the greatest index of a vector are apart.
func (e *emitter) span(i *ir.Value) int64 {
	step := e.Of(i).Step
	return max(step, -step) * int64(e.isa.lanes()-1)
}

// isShort reports whether v checks integers of 32 bits, that differ from lane to lane,
// against one length.
func (e *emitter) isShort(v *ir.Value) bool {
	i := v.Args[0]
	return i.Op == ir.OpConvert && i.Args[0].Type.Kind == ir.KI32 && e.Of(i).Kind == analysis.VaryingLanes && e.Of(v.Args[1]).Kind == analysis.UniformLanes
}
