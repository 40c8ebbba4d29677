package front

import (
	"go/ast"
	"go/types"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/front/internal/lower"
	"github.com/gokiln/kiln/compiler/input"
)

// logFunc returns the key of the function that is called if it takes a text.
func (c *subsetChecker) logFunc(fun ast.Expr) string {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	fn, ok := c.b.info.Uses[sel.Sel].(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Pkg().Path() != input.DSL {
		return ""
	}
	if key := "dsl." + fn.Name(); lower.TextArg(key) > 0 {
		return key
	}
	return ""
}

// logCall checks a call with a text.
func (c *subsetChecker) logCall(n *ast.CallExpr, key string) {
	at := lower.TextArg(key)
	for i, a := range n.Args {
		tv := c.b.info.Types[a]
		switch {
		case i == at && tv.Value == nil && tv.Type != nil:
			c.report(a, diag.LogCall, "text of %s is not a constant", key)
		case i == at:
		case i > at && n.Ellipsis.IsValid():
			c.report(a, diag.LogCall, "arguments of %s are a slice", key)
		case i > at && tv.Type != nil && !gotype.IsPrintable(tv.Type):
			c.report(a, diag.LogCall, "%s prints numbers and bools, not %s", key, gotype.Name(tv.Type))
		default:
			c.walk(a)
		}
	}
}
