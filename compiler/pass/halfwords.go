package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// joinHalves makes one load of two neighbouring halves of a word, x[i] | x[i+1]<<16, which may begin at
// any of them: vectors load from any address, and gather halves slowly.
func joinHalves(f *ir.Func, _ int) error {
	some := false
	for _, b := range f.Blocks {
		for i, v := range b.Instrs {
			low, ok := halvesOfWord(v)
			if ok && undisturbed(b.Instrs[:i], low, v.Args[1].Args[0].Args[0]) {
				v.Op, v.Args = ir.OpLoadBytes, []*ir.Value{low.Args[0]}
				some = true
			}
		}
	}
	if some {
		dce(f)
	}
	return nil
}

// halvesOfWord returns the load of the lower half of a word that v puts together, if it does.
func halvesOfWord(v *ir.Value) (low *ir.Value, ok bool) {
	if v.Op != ir.OpOr || v.Type.Kind != ir.KU32 || v.Args[1].Op != ir.OpShl || !v.Args[1].Args[1].IsConst() || v.Args[1].Args[1].Imm != 16 {
		return nil, false
	}
	low, ok = halfLoad(v.Args[0])
	high, both := halfLoad(v.Args[1].Args[0])
	if !ok || !both || low.Block != v.Block || high.Block != v.Block {
		return nil, false
	}
	p, q := low.Args[0], high.Args[0]
	if p.Op != ir.OpOffset || q.Op != ir.OpOffset || p.Args[0] != q.Args[0] {
		return nil, false
	}
	at, first := sumOf(p.Args[1])
	next, second := sumOf(q.Args[1])
	return low, second == first+1 && slices.Equal(at, next)
}

// halfLoad returns the load of 16 bits that v extends, if it does.
func halfLoad(v *ir.Value) (load *ir.Value, ok bool) {
	if v.Op != ir.OpConvert {
		return nil, false
	}
	load = v.Args[0]
	return load, load.Op == ir.OpLoad && load.Type.Kind == ir.KU16
}

// sumOf returns what an index adds up, in the order of their numbers, and the constant among them.
func sumOf(v *ir.Value) (terms []*ir.Value, c int64) {
	const most = 8
	for list := []*ir.Value{v}; len(list) > 0; list = list[1:] {
		switch x := list[0]; {
		case x.IsConst():
			c += int64(x.Imm)
		case x.Op == ir.OpAdd && len(list)+len(terms) < most:
			list = append(list, x.Args...)
		default:
			terms = append(terms, x)
		}
	}
	slices.SortFunc(terms, func(a, b *ir.Value) int { return int(a.ID) - int(b.ID) })
	return terms, c
}

// undisturbed reports whether nothing behind the first of two loads of a list changes memory.
func undisturbed(list []*ir.Value, a, b *ir.Value) bool {
	for _, v := range slices.Backward(list) {
		if v.Op.Has(ir.Writes) || v.Op.Has(ir.Convergent) {
			return false
		}
		if v == a {
			a = nil
		}
		if v == b {
			b = nil
		}
		if a == nil && b == nil {
			return true
		}
	}
	return false
}
