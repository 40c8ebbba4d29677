package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// findMixed finds these products. The two of which they are the difference are not made, if nothing
// else uses them.
func (e *emitter) findMixed() {
	e.mixed = map[*ir.Value]mixedDot{}
	other := map[*ir.Value]bool{} // other operations use it
	use := func(list []*ir.Value) {
		for _, x := range list {
			other[x] = true
		}
	}
	for i := range e.Blocks {
		b := e.Blocks[i].Block
		for _, v := range b.Instrs {
			if d, ok := mixedDotOf(v); ok && e.Of(v).Kind == analysis.VaryingLanes {
				e.mixed[v] = d
			} else {
				use(v.Args)
			}
		}
		use(b.Term.Args)
		for _, s := range b.Term.Succs {
			use(s.Args)
		}
	}
	for v := range e.mixed {
		for _, x := range v.Args {
			e.used[x.ID] = other[x]
		}
	}
}

// mixedDotOf returns the product that v is, if it is one.
func mixedDotOf(v *ir.Value) (d mixedDot, ok bool) {
	const tops = 0x80808080
	is := func(x *ir.Value, n uint32) bool { return x.IsConst() && uint32(x.Imm) == n }
	if v.Op != ir.OpSub || v.Type.Kind != ir.KI32 {
		return d, false
	}
	p, q := v.Args[0], v.Args[1]
	if p.Op != ir.OpDot4 || q.Op != ir.OpDot4 || p.Args[1] != q.Args[1] {
		return d, false
	}
	if !is(q.Args[0], tops) || !is(q.Args[2], 0) {
		return d, false
	}
	x := p.Args[0]
	if x.Op == ir.OpConvert && x.Args[0].Type.IsInt() && x.Args[0].Type.Size() == 4 {
		x = x.Args[0]
	}
	if x.Op != ir.OpXor || !is(x.Args[1], tops) {
		return mixedDot{x, p.Args[1], p.Args[2], true}, true
	}
	return mixedDot{x.Args[0], p.Args[1], p.Args[2], false}, true
}

// multiplyMixed adds the products to the sum.
func (e *emitter) multiplyMixed(d mixedDot) val {
	x, y, z := e.vectors(d.unsigned).reg[0], e.vectors(d.signed).reg[0], e.vectors(d.sum).reg[0]
	if d.invert {
		x = e.vop(e.pick(asm.VPXOR, asm.VPXORD), asm.R(x), e.all32(0x80808080))
	}
	if !e.vnni {
		return one(e.dotWords(e.wordsOf(x, unsignedBytes), e.wordsOf(y, signedBytes), z))
	}
	r := e.vec()
	e.copy(r, z)
	e.op(e.pick(asm.VPDPBUSDVEX, asm.VPDPBUSD), e.width(), asm.R(r), asm.R(x), asm.R(y))
	return one(r)
}
