package front

import (
	"go/ast"
	"go/token"

	"github.com/gokiln/kiln/compiler/diag"
)

// endless reports a for statement without a condition that nothing in its body leaves. Other
// loops without end are found by the pass diagnose, which knows values but not statements.
func (c *subsetChecker) endless(n *ast.ForStmt) {
	if n.Cond != nil {
		return
	}
	w := leaver{inside: map[string]bool{c.labels[n]: true}}
	ast.Inspect(n.Body, func(x ast.Node) bool {
		if l, ok := x.(*ast.LabeledStmt); ok {
			w.inside[l.Label.Name] = true
		}
		return true
	})
	w.label = c.labels[n]
	if !w.leaves(n.Body, true) {
		c.report(n, diag.EndlessLoop, "nothing leaves the loop")
	}
}

// leaver looks for what leaves a loop.
type leaver struct {
	label  string          // of the loop, "" if it has none
	inside map[string]bool // labels of the loop and of statements in it
}

// leaves reports whether something in n leaves the loop; bare says that a break without a label does.
func (w *leaver) leaves(n ast.Node, bare bool) (found bool) {
	ast.Inspect(n, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			found = true
		case *ast.BranchStmt:
			found = found || w.branches(x, bare)
		case *ast.CallExpr:
			id, ok := x.Fun.(*ast.Ident)
			found = found || ok && id.Name == "panic"
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			if bare && x != n { // a break in it is its own
				found = found || w.leaves(x, false)
				return false
			}
		}
		return !found
	})
	return found
}

func (w *leaver) branches(n *ast.BranchStmt, bare bool) bool {
	switch {
	case n.Tok == token.GOTO:
		return true
	case n.Tok == token.BREAK && n.Label == nil:
		return bare
	case n.Label == nil:
		return false
	case n.Tok == token.BREAK && n.Label.Name == w.label:
		return true
	}
	return !w.inside[n.Label.Name]
}
