package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// findLookups finds these permutations. What they are made of is dead then, if nothing else uses it.
func (e *emitter) findLookups() {
	e.lookups = map[*ir.Value]lookup{}
	for i := range e.Blocks {
		for _, v := range e.Blocks[i].Block.Instrs {
			if v.Op != ir.OpPermute || e.Of(v).Kind != analysis.VaryingLanes {
				continue
			}
			if l, ok := lookupOf(v); ok {
				e.lookups[v] = l
			}
		}
	}
}

// lookupOf returns the lookup that v is, if it is one.
func lookupOf(v *ir.Value) (l lookup, ok bool) {
	l.high = isWord(v.Args[2], 0x7531)
	a, b := v.Args[0], v.Args[1]
	if !l.high && !isWord(v.Args[2], 0x6420) || !permutesTwo(a) || !permutesTwo(b) {
		return l, false
	}
	which, upper := a.Args[0].Args[2], a.Args[2]
	if which.Op != ir.OpAnd || !isWord(which.Args[1], 0x77777777) || !isUpper(upper, which.Args[0]) || !shifted16(b.Args[2], upper) {
		return l, false
	}
	for i := range 2 {
		x, y := a.Args[i], b.Args[i]
		if x.Args[2] != which || !shifted16(y.Args[2], which) {
			return l, false
		}
		for j := range 2 {
			t := x.Args[j]
			if !t.IsConst() || t != y.Args[j] {
				return l, false
			}
			l.table[2*i+j] = uint32(t.Imm)
		}
	}
	l.word = which.Args[0]
	return l, true
}

// permutesTwo reports whether v permutes two permutations.
func permutesTwo(v *ir.Value) bool {
	return v.Op == ir.OpPermute && v.Args[0].Op == ir.OpPermute && v.Args[1].Op == ir.OpPermute
}

// isUpper reports whether v has a selector of the first or the second of two words for each nibble of w.
func isUpper(v, w *ir.Value) bool {
	if v.Op != ir.OpOr || !isWord(v.Args[1], 0x32103210) {
		return false
	}
	s := v.Args[0]
	return s.Op == ir.OpShr && isWord(s.Args[1], 1) && s.Args[0].Op == ir.OpAnd && s.Args[0].Args[0] == w && isWord(s.Args[0].Args[1], 0x88888888)
}

// shifted16 reports whether v is the upper half of x.
func shifted16(v, x *ir.Value) bool {
	return v.Op == ir.OpShr && v.Args[0] == x && isWord(v.Args[1], 16)
}

func isWord(v *ir.Value, n uint32) bool { return v.IsConst() && uint32(v.Imm) == n }

// lookUp emits a lookup.
func (e *emitter) lookUp(l lookup) val {
	w := e.vectors(l.word).reg[0]
	if l.high {
		w = e.vop(asm.VPSRLD, asm.R(w), asm.I(4))
	}
	return one(e.vxx(asm.VPSHUFB, e.bytesTable(l.table), e.and32(w, 0x0f0f0f0f)))
}
