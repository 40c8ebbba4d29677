package front

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
)

// halfConstant reports a constant that becomes a storage type by itself, as in
// h[0] = 1: it sets the bits, as in Go, and someone who writes it means the
// number. A conversion such as dsl.F16(0x3C00) says that bits are meant, but not
// T(1), whose T may be float32 too. Operands are left alone: arithmetic on the
// type is refused as such, and for float32 it is right. The result tells whether
// n is done with.
func (c *subsetChecker) halfConstant(n ast.Expr) bool {
	c.markOperands(n)
	if c.operand[n] {
		return false
	}
	tv := c.b.info.Types[n]
	value := tv.Value
	call, converted := ast.Unparen(n).(*ast.CallExpr)
	if converted && value == nil && len(call.Args) == 1 && c.b.info.Types[call.Fun].IsType() {
		value = c.b.info.Types[call.Args[0]].Value // T(1) is no constant, by Go's rules
	}
	if value == nil || tv.Type == nil || !maybeHalf(tv.Type) || constant.Sign(value) == 0 {
		return false
	}
	if _, generic := types.Unalias(tv.Type).(*types.TypeParam); generic || !converted {
		c.report(n, diag.HalfArith, "constant %s as %s makes bits of a number: use dsl.To", value, gotype.Name(tv.Type))
	}
	return true
}

// markOperands notes the operands of an operation.
func (c *subsetChecker) markOperands(n ast.Expr) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		c.operand[n.X], c.operand[n.Y] = true, true
	case *ast.ParenExpr:
		c.operand[n.X] = c.operand[n]
	case *ast.UnaryExpr:
		c.operand[n.X] = c.operand[n]
	case *ast.CallExpr:
		if c.b.info.Types[n.Fun].IsBuiltin() { // min, max
			for _, a := range n.Args {
				c.operand[a] = true
			}
		}
	}
}

// maybeHalf reports whether t is a storage type, or a type parameter that can be
// one and no integer: then a constant is meant as a number.
func maybeHalf(t types.Type) bool {
	tp, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return gotype.IsStorage(t)
	}
	set := typeSet(tp.Constraint())
	integer := func(t types.Type) bool {
		b, ok := t.Underlying().(*types.Basic)
		return ok && b.Info()&types.IsInteger != 0 && !gotype.IsStorage(t)
	}
	return slices.ContainsFunc(set, gotype.IsStorage) && !slices.ContainsFunc(set, integer)
}
