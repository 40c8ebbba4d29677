package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// mutant is a change of one place of a file.
type mutant struct {
	file     string // slashes, relative to the module
	line     int
	fn       string // the function around it, or ""
	what     string // "< -> <=", "drop", "negate", "next"
	text     string // the source that changes
	nth      int    // which of those with the same name, from 1
	from, to int    // bytes that are replaced
	by       string
}

// name identifies the mutant as long as its function and its text are what they are.
func (m mutant) name() string {
	s := fmt.Sprintf("%s %s %s %q", m.file, m.fn, m.what, m.text)
	if m.nth > 1 {
		s += fmt.Sprintf(" #%d", m.nth)
	}
	return s
}

// apply returns the changed file.
func (m mutant) apply(src []byte) []byte {
	return []byte(string(src[:m.from]) + m.by + string(src[m.to:]))
}

// operators are what stands in the place of an operator.
var operators = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.ADD, token.QUO: token.MUL, token.REM: token.MUL,
	token.AND: token.OR, token.OR: token.AND, token.XOR: token.AND, token.AND_NOT: token.AND,
	token.SHL: token.SHR, token.SHR: token.SHL,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.ADD_ASSIGN,
	token.QUO_ASSIGN: token.MUL_ASSIGN, token.OR_ASSIGN: token.AND_ASSIGN, token.AND_ASSIGN: token.OR_ASSIGN,
	token.AND_NOT_ASSIGN: token.AND_ASSIGN, token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}

// finder collects the mutants of a file.
type finder struct {
	file *token.File
	path string
	src  []byte
	fn   string
	list []mutant
	seen map[string]int
}

// sites returns the mutants of a file, in the order of its text.
func sites(path string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &finder{file: fset.File(f.Pos()), path: path, src: src, seen: map[string]int{}}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			s.fn = fn.Name.Name
			ast.Inspect(fn.Body, s.visit)
		}
	}
	return s.list, nil
}

// visit adds the mutants of a node. What only makes up a message is passed over.
func (s *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return !message(n)
	case *ast.BinaryExpr:
		s.swap(n, n.OpPos, n.Op)
	case *ast.IncDecStmt:
		s.swap(n, n.TokPos, n.Tok)
	case *ast.AssignStmt:
		s.swap(n, n.TokPos, n.Tok)
		if n.Tok == token.ASSIGN {
			s.add(n, "drop", n.Pos(), n.End(), "{}")
		}
	case *ast.ExprStmt:
		s.add(n, "drop", n.Pos(), n.End(), "{}")
	case *ast.DeferStmt:
		s.add(n, "drop", n.Pos(), n.End(), "{}")
	case *ast.IfStmt:
		if b, ok := n.Cond.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
			break // the operator's mutant is the same
		}
		s.add(n.Cond, "negate", n.Cond.Pos(), n.Cond.End(), "!("+s.text(n.Cond)+")")
	case *ast.BasicLit:
		if v, err := strconv.ParseUint(n.Value, 0, 63); n.Kind == token.INT && err == nil {
			s.add(n, "next", n.Pos(), n.End(), strconv.FormatUint(v+1, 10))
		}
	case *ast.Ident:
		if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" {
			s.add(n, "not", n.Pos(), n.End(), other)
		}
	}
	return true
}

// message reports whether a call makes an error or a text.
func message(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		x, ok := f.X.(*ast.Ident)
		return ok && (x.Name == "fmt" || x.Name == "errors" && f.Sel.Name == "New")
	case *ast.Ident:
		return f.Name == "panic"
	}
	return false
}

func (s *finder) swap(n ast.Node, pos token.Pos, op token.Token) {
	if by, ok := operators[op]; ok {
		s.add(n, op.String()+" -> "+by.String(), pos, pos+token.Pos(len(op.String())), by.String())
	}
}

func (s *finder) add(n ast.Node, what string, from, to token.Pos, by string) {
	m := mutant{file: s.path, line: s.file.Line(from), fn: s.fn, what: what, text: s.text(n), from: s.file.Offset(from), to: s.file.Offset(to), by: by}
	s.seen[m.name()]++
	m.nth = s.seen[m.name()]
	s.list = append(s.list, m)
}

// text is the first line of a node.
func (s *finder) text(n ast.Node) string {
	text := string(s.src[s.file.Offset(n.Pos()):s.file.Offset(n.End())])
	if first, _, more := strings.Cut(text, "\n"); more && !isExpr(n) {
		return first
	}
	return text
}

func isExpr(n ast.Node) bool { _, ok := n.(ast.Expr); return ok }
