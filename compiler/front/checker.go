package front

import (
	"go/ast"

	"github.com/gokiln/kiln/compiler/diag"
)

// subsetChecker reports what Go has and kernels have not.
type subsetChecker struct {
	b      *build
	called map[ast.Expr]bool // selectors that are called

	operand map[ast.Expr]bool // operands of operations; see halfConstant
}

func (c *subsetChecker) report(n ast.Node, code diag.Code, format string, args ...any) {
	c.b.Report(n.Pos(), code, "", format, args...)
}
