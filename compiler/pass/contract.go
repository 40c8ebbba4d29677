package pass

import (
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// contract turns x*y + z into fma(x, y, z) where both the product and the sum
// have the licence, and differences likewise. The product itself stays for other
// uses, and goes with dce if there are none. A product minus itself stays zero.
// The licence is used up: no later pass sees it.
func contract(f *ir.Func) {
	for _, b := range f.Blocks {
		for i := 0; i < len(b.Instrs); i++ {
			v := b.Instrs[i]
			if !v.Contract || v.Op != ir.OpAdd && v.Op != ir.OpSub || analysis.SameValue(v.Args[0], v.Args[1]) {
				continue
			}
			for _, side := range []int{0, 1} { // the left product if both are
				if p := v.Args[side]; p.Op == ir.OpMul && p.Contract {
					fuse(f, b, i, side)
					break
				}
			}
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			v.Contract = false
		}
	}
}

// fuse rewrites the sum or difference at b.Instrs[i], whose operand at side is a
// product: x*y - z is fma(x, y, -z), and z - x*y is fma(-x, y, z).
func fuse(f *ir.Func, b *ir.Block, i, side int) {
	v := b.Instrs[i]
	p, z := v.Args[side], v.Args[1-side]
	x, y := p.Args[0], p.Args[1]
	if v.Op == ir.OpSub {
		negated := &x
		if side == 0 {
			negated = &z
		}
		n := f.NewValue(ir.OpNeg, v.Type, *negated)
		n.Block, n.Pos = b, v.Pos
		*negated = n
		b.Instrs = append(b.Instrs[:i], append([]*ir.Value{n}, b.Instrs[i:]...)...)
	}
	become(v, ir.OpFMA, v.Type, x, y, z)
}
