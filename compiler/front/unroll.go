package front

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/ir"
)

// The comment //kiln:unroll above a for statement becomes a call at the beginning of its body, of a
// function literal that does nothing: so it comes to the lowering in whatever instance of the
// function it is, and says which loop it is of. No literal of a program looks like it, since its
// func and its brace have one position, that of the comment. It has as many empty statements as
// the unroll factor says, none for full unrolling.

const unrollMark = "//kiln:unroll"

// maxUnroll is the largest unroll factor.
const maxUnroll = 256

// misplaced is a comment //kiln:unroll that says nothing.
type misplaced struct {
	pos token.Pos
	msg string
}

// unrollMarks makes calls of the comments //kiln:unroll in a file, and returns those that it
// cannot.
func unrollMarks(tree *ast.File, tok *token.File, text []byte) (wrong []misplaced) {
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
				wrong = append(wrong, misplaced{c.Pos(), fmt.Sprintf("%s wants a number of bodies from 1 to %d, not %q", unrollMark, maxUnroll, strings.TrimSpace(arg))})
			case !alone || loop == nil:
				wrong = append(wrong, misplaced{c.Pos(), unrollMark + " does not stand above a for statement"})
			case !repeats(loop):
				wrong = append(wrong, misplaced{c.Pos(), onlyOnce})
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

const onlyOnce = "the loop has no second iteration"

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

// markRead is a comment //kiln:unroll as the lowering meets it.
type markRead struct {
	pos    token.Pos // of the comment
	end    token.Pos // of the loop
	bodies int       // 0 for full unrolling
}

// markOf returns the comment that call was made of.
func markOf(call *ssa.Call) (m markRead, ok bool) {
	fn, ok := call.Call.Value.(*ssa.Function)
	if !ok {
		return m, false
	}
	lit, ok := fn.Syntax().(*ast.FuncLit)
	if !ok || lit.Body.Lbrace != lit.Type.Func {
		return m, false
	}
	return markRead{lit.Type.Func, lit.Body.Rbrace, len(lit.Body.List)}, true
}

// unrolls reports whether in is a call that mark has made, and notes the factor at the header of
// the loop.
func (f *funcLower) unrolls(in ssa.Instruction) bool {
	call, ok := in.(*ssa.Call)
	if !ok {
		return false
	}
	m, ok := markOf(call)
	if !ok {
		return false
	}
	header, blocks := loopAround(call.Block())
	if header == nil || !textWithin(blocks, m.pos, m.end) {
		f.l.k.Report(m.pos, diag.Unroll, "", onlyOnce)
		return true
	}
	if m.bodies == 0 {
		m.bodies = ir.UnrollFully
	}
	f.blocks[header.Index].Unroll = ir.Unroll{Times: m.bodies, Pos: f.l.position(m.pos)}
	return true
}

// loopAround returns the header and the blocks of the innermost loop around b.
func loopAround(b *ssa.BasicBlock) (*ssa.BasicBlock, map[*ssa.BasicBlock]bool) {
	for h := b; h != nil; h = h.Idom() {
		blocks := map[*ssa.BasicBlock]bool{h: true}
		var work []*ssa.BasicBlock
		for _, p := range h.Preds {
			if h.Dominates(p) {
				work = append(work, p)
			}
		}
		found := len(work) > 0 && b == h
		for len(work) > 0 {
			x := work[len(work)-1]
			work = work[:len(work)-1]
			if blocks[x] {
				continue
			}
			blocks[x] = true
			found = found || x == b
			work = append(work, x.Preds...)
		}
		if found {
			return h, blocks
		}
	}
	return nil, nil
}

// textWithin reports whether all of blocks is text between two positions, so that the loop
// which they are is not one around that.
func textWithin(blocks map[*ssa.BasicBlock]bool, from, to token.Pos) bool {
	for b := range blocks {
		for _, in := range b.Instrs {
			switch in.(type) {
			case *ssa.Phi, *ssa.Alloc: // these are where a variable is declared
				continue
			}
			if p := in.Pos(); p.IsValid() && (p < from || p > to) {
				return false
			}
		}
	}
	return true
}
