package unroll

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

const unrollMark = "//kiln:unroll"

// maxUnroll is the largest unroll factor.
const maxUnroll = 256

// Misplaced is a comment //kiln:unroll that says nothing.
type Misplaced struct {
	Pos token.Pos
	Msg string
}

// Insert makes calls of the comments //kiln:unroll in a file, and returns those that it
// cannot.
func Insert(tree *ast.File, tok *token.File, text []byte) (wrong []Misplaced) {
	if !bytes.Contains(text, []byte(unrollMark)) {
		return nil
	}
	loops := loopsByLine(tree, tok)
	for _, g := range tree.Comments {
		for _, c := range g.List {
			word, arg, _ := strings.Cut(strings.TrimSpace(c.Text), " ")
			arg, _, _ = strings.Cut(arg, "//") // a remark
			if word != unrollMark {
				continue
			}
			n, ok := bodies(arg)
			start := tok.Offset(tok.LineStart(tok.Line(c.Pos())))
			alone := len(bytes.TrimSpace(text[start:tok.Offset(c.Pos())])) == 0
			loop := loops[tok.Line(g.End())+1]
			switch {
			case !ok:
				wrong = append(wrong, Misplaced{c.Pos(), fmt.Sprintf("%s wants a number of bodies from 1 to %d, not %q", unrollMark, maxUnroll, strings.TrimSpace(arg))})
			case !alone || loop == nil:
				wrong = append(wrong, Misplaced{c.Pos(), unrollMark + " does not stand above a for statement"})
			case !repeats(loop):
				wrong = append(wrong, Misplaced{c.Pos(), OnlyOnce})
			default:
				mark(loop, c.Pos(), n)
			}
		}
	}
	return wrong
}

// bodies reads the number of bodies, 0 for all.
func bodies(arg string) (int, bool) {
	if arg = strings.TrimSpace(arg); arg == "" {
		return 0, true
	}
	n, err := strconv.Atoi(arg)
	return n, err == nil && n >= 1 && n <= maxUnroll
}

// loopsByLine returns the for statements of a file by the lines that they begin on, with their
// labels.
func loopsByLine(tree *ast.File, tok *token.File) map[int]ast.Stmt {
	loops := map[int]ast.Stmt{}
	add := func(at, s ast.Stmt) {
		switch s.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if line := tok.Line(at.Pos()); loops[line] == nil {
				loops[line] = s
			}
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.LabeledStmt:
			add(n, n.Stmt)
		case ast.Stmt:
			add(n, n)
		}
		return true
	})
	return loops
}

// OnlyOnce is what is wrong with a comment above a loop that does not repeat.
const OnlyOnce = "the loop has no second iteration"

// repeats is false for a loop whose body ends in a break or return, and has no continue.
func repeats(loop ast.Stmt) bool {
	list := bodyOf(loop).List
	if len(list) == 0 {
		return true
	}
	switch last := list[len(list)-1].(type) {
	case *ast.ReturnStmt:
	case *ast.BranchStmt:
		if last.Tok != token.BREAK {
			return true
		}
	default:
		return true
	}
	again := false
	ast.Inspect(bodyOf(loop), func(n ast.Node) bool {
		b, ok := n.(*ast.BranchStmt)
		again = again || ok && b.Tok == token.CONTINUE
		return true
	})
	return again
}

func bodyOf(loop ast.Stmt) *ast.BlockStmt {
	if s, ok := loop.(*ast.RangeStmt); ok {
		return s.Body
	}
	return loop.(*ast.ForStmt).Body
}

// mark puts the call into the body of loop.
func mark(loop ast.Stmt, at token.Pos, n int) {
	lit := &ast.FuncLit{
		Type: &ast.FuncType{Func: at, Params: &ast.FieldList{Opening: at, Closing: at}},
		Body: &ast.BlockStmt{Lbrace: at, Rbrace: loop.End()},
	}
	for range n {
		lit.Body.List = append(lit.Body.List, &ast.EmptyStmt{Semicolon: at})
	}
	call := &ast.ExprStmt{X: &ast.CallExpr{Fun: lit, Lparen: at, Rparen: at}}
	body := bodyOf(loop)
	body.List = slices.Insert(body.List, 0, ast.Stmt(call))
}

// Mark is a comment //kiln:unroll as the lowering meets it.
type Mark struct {
	Pos    token.Pos // of the comment
	End    token.Pos // of the loop
	Bodies int       // 0 for full unrolling
}

// Of returns the comment that call was made of.
func Of(call *ssa.Call) (m Mark, ok bool) {
	fn, ok := call.Call.Value.(*ssa.Function)
	if !ok {
		return m, false
	}
	lit, ok := fn.Syntax().(*ast.FuncLit)
	if !ok || lit.Body.Lbrace != lit.Type.Func {
		return m, false
	}
	return Mark{lit.Type.Func, lit.Body.Rbrace, len(lit.Body.List)}, true
}
