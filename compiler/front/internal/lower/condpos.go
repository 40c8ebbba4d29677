package lower

import (
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// condPos returns the position of a branch's condition. That of a parameter, such as
// on in "if on {", is where it is declared, and go/ssa has no position for its use: it
// is looked up in the text.
func (f *funcLower) condPos(in *ssa.If) token.Pos {
	param, ok := in.Cond.(*ssa.Parameter)
	if !ok || f.fn.Syntax() == nil {
		return in.Cond.Pos()
	}
	uses := f.tested(f.fn.Syntax(), param.Pos())
	i := slices.Index(branchesOn(f.fn, param), in)
	if i < 0 || i >= len(uses) {
		return in.Cond.Pos() // go/ssa has merged some
	}
	return uses[i]
}

// tested returns where the variable declared at def decides alone, or as an operand
// of !, && and ||, which way an if or for statement or such an operator takes; in
// order of the text. Literals inside are functions of their own.
func (f *funcLower) tested(fn ast.Node, def token.Pos) (out []token.Pos) {
	var cond func(ast.Expr)
	cond = func(x ast.Expr) {
		switch x := ast.Unparen(x).(type) {
		case *ast.Ident:
			if use := f.l.k.Info.Uses[x]; use != nil && use.Pos() == def {
				out = append(out, x.Pos())
			}
		case *ast.UnaryExpr:
			cond(x.X)
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				cond(x.X)
				cond(x.Y)
			}
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return ast.Node(n) == fn
		case *ast.IfStmt:
			cond(n.Cond)
		case *ast.ForStmt:
			if n.Cond != nil {
				cond(n.Cond)
			}
		}
		return true
	})
	return out
}

// branchesOn returns the branches that a parameter decides, in order of the text:
// go/ssa makes the blocks behind a condition when it comes to it.
func branchesOn(fn *ssa.Function, cond *ssa.Parameter) (out []*ssa.If) {
	for _, b := range fn.Blocks {
		if in, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If); ok && in.Cond == ssa.Value(cond) {
			out = append(out, in)
		}
	}
	slices.SortStableFunc(out, func(a, b *ssa.If) int { return a.Block().Succs[0].Index - b.Block().Succs[0].Index })
	return out
}

// emptyLoop returns the position of the statement for {} that b is, where go/ssa has none: loops
// without a condition and a body are taken in order of the text, as their blocks are made.
func (f *funcLower) emptyLoop(b *ssa.BasicBlock) (at token.Pos) {
	if len(b.Instrs) != 1 || b.Succs[0] != b || f.fn.Syntax() == nil {
		return token.NoPos
	}
	n := 0 // blocks of this kind before b
	for _, o := range f.fn.Blocks[:b.Index] {
		if len(o.Instrs) == 1 && len(o.Succs) == 1 && o.Succs[0] == o {
			n++
		}
	}
	ast.Inspect(f.fn.Syntax(), func(x ast.Node) bool {
		if l, ok := x.(*ast.FuncLit); ok {
			return ast.Node(l) == f.fn.Syntax()
		}
		if s, ok := x.(*ast.ForStmt); ok && s.Cond == nil && s.Post == nil && len(s.Body.List) == 0 {
			if n--; n == -1 {
				at = s.Pos()
			}
		}
		return true
	})
	return at
}
