package analyzer

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/gokiln/kiln/compiler/diag"
)

// report hands a diagnostic to the driver.
func (c *checker) report(d diag.Diagnostic) {
	file, pos := c.pos(d.Pos)
	out := analysis.Diagnostic{Pos: pos, Category: string(d.Code), URL: url(d.Code)}
	if file == nil {
		_, out.Pos = c.importer(d.Pos)
		out.Message = d.Error() // with its position, which is elsewhere
	} else {
		out.Message = string(d.Code) + ": " + d.Msg
		out.SuggestedFixes = c.fixes(file, pos, d)
	}
	if d.Fix != "" {
		out.Message += "; " + d.Fix
	}
	if d.Note != "" {
		out.Related = []analysis.RelatedInformation{{Pos: c.notePos(d.Note, out.Pos), Message: d.Note}}
	}
	c.pass.Report(out)
}

// url is the section of the page of diagnostics on a code.
func url(code diag.Code) string {
	row := diag.Lookup(code)
	if row == nil {
		return ""
	}
	return "#" + strings.ToLower(string(code)) + "-" + strings.ReplaceAll(row.Name, " ", "-")
}

// pos finds a position in the files of the package; file is nil if it is not in
// one of them.
func (c *checker) pos(p diag.Position) (file *ownFile, pos token.Pos) {
	if path.Dir(p.File) != c.path {
		return nil, token.NoPos
	}
	for i := range c.own {
		f := &c.own[i]
		if f.Name != path.Base(p.File) {
			continue
		}
		if p.Line == 0 {
			return f, f.tree.Package
		}
		tok := c.pass.Fset.File(f.tree.FileStart)
		if p.Line > tok.LineCount() {
			return f, f.tree.Package
		}
		at := tok.LineStart(p.Line) + token.Pos(max(p.Col-1, 0))
		return f, min(at, token.Pos(tok.Base()+tok.Size()))
	}
	return nil, token.NoPos
}

// importer returns the import through which the package reaches the one that
// holds p, or where the package begins.
func (c *checker) importer(p diag.Position) (*ownFile, token.Pos) {
	via := c.via[path.Dir(p.File)]
	for i := range c.own {
		for _, s := range c.own[i].tree.Imports {
			if q, err := strconv.Unquote(s.Path.Value); err == nil && q == via {
				return &c.own[i], s.Pos()
			}
		}
	}
	return &c.own[0], c.own[0].tree.Package
}

// place matches how notes name a position.
var place = regexp.MustCompile(`([^\s:]+\.go):(\d+):(\d+)`)

// notePos returns the position that a note speaks of, fallback if it names none in
// this package.
func (c *checker) notePos(note string, fallback token.Pos) token.Pos {
	m := place.FindStringSubmatch(note)
	if m == nil {
		return fallback
	}
	line, err1 := strconv.Atoi(m[2])
	col, err2 := strconv.Atoi(m[3])
	if err1 != nil || err2 != nil {
		return fallback
	}
	if file, pos := c.pos(diag.Position{File: m[1], Line: line, Col: col}); file != nil {
		return pos
	}
	return fallback
}

// fixes returns the mechanical correction of d, if there is one.
func (c *checker) fixes(f *ownFile, pos token.Pos, d diag.Diagnostic) []analysis.SuggestedFix {
	var edits []analysis.TextEdit
	var what string
	switch d.Code {
	case diag.Import:
		what = d.Fix
		edits = c.replaceMath(f, pos, d.Fix)
	case diag.NoSource:
		what = "register the package's source"
		edits = c.register(f)
	case diag.FirstParam:
		what = "add the parameter"
		edits = addThread(f, pos)
	}
	if len(edits) == 0 {
		return nil
	}
	return []analysis.SuggestedFix{{Message: what, TextEdits: edits}}
}

// replaceMath does what fix says to the function of math called at pos: it
// turns math.Exp into dsl.Exp, or math.Max into max. The import of math goes if
// that was its last use.
func (c *checker) replaceMath(f *ownFile, pos token.Pos, fix string) []analysis.TextEdit {
	dsl, math := f.importName(dslPath), f.importName("math")
	name, builtin := strings.CutPrefix(fix, "use the built-in ")
	if !builtin {
		name, _ = strings.CutPrefix(fix, "use dsl.")
	}
	if dsl == "" || !token.IsIdentifier(name) {
		return nil
	}
	if !builtin {
		name = dsl + "." + name
	}
	var edits []analysis.TextEdit
	uses := 0
	ast.Inspect(f.tree, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := s.X.(*ast.Ident); ok && id.Name == math {
			uses++
			if s.Pos() == pos {
				edits = append(edits, analysis.TextEdit{Pos: s.Pos(), End: s.End(), NewText: []byte(name)})
			}
		}
		return true
	})
	if len(edits) == 1 && uses == 1 {
		edits = append(edits, c.dropImport(f, "math")...)
	}
	return edits
}

// dropImport removes the line of an import.
func (c *checker) dropImport(f *ownFile, importPath string) []analysis.TextEdit {
	tok := c.pass.Fset.File(f.tree.FileStart)
	for _, d := range f.tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		for _, s := range g.Specs {
			if q, err := strconv.Unquote(s.(*ast.ImportSpec).Path.Value); err != nil || q != importPath {
				continue
			}
			line := tok.Line(s.Pos())
			if line >= tok.LineCount() || len(g.Specs) > 1 && tok.Line(g.Lparen) == line {
				return nil
			}
			return []analysis.TextEdit{{Pos: tok.LineStart(line), End: tok.LineStart(line + 1)}}
		}
	}
	return nil
}

// register adds what makes a package a kernel package.
func (c *checker) register(f *ownFile) []analysis.TextEdit {
	dsl := f.importName(dslPath)
	if c.own.registered() || dsl == "" || dsl == "." || dsl == "_" {
		return nil
	}
	end := f.tree.Name.End()
	for _, d := range f.tree.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			end = g.End()
		}
	}
	text := "\n\n//go:embed *.go\nvar source embed.FS\n\nvar _ = " + dsl + ".Source(source) // the kernel's source travels inside the binary"
	edits := []analysis.TextEdit{{Pos: end, End: end, NewText: []byte(text)}}
	if f.importName("embed") == "" {
		at := f.tree.Name.End()
		edits = append([]analysis.TextEdit{{Pos: at, End: at, NewText: []byte("\n\nimport \"embed\"")}}, edits...)
	}
	return edits
}

// addThread gives the kernel declared around pos its first parameter.
func addThread(f *ownFile, pos token.Pos) []analysis.TextEdit {
	dsl := f.importName(dslPath)
	for _, d := range f.tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || dsl == "" || pos < fn.Pos() || pos >= fn.End() || fn.Recv != nil || takesThread(fn) {
			continue
		}
		text := threadName(fn) + " " + dsl + ".Thread"
		if len(fn.Type.Params.List) > 0 {
			text += ", "
		}
		at := fn.Type.Params.Opening + 1
		return []analysis.TextEdit{{Pos: at, End: at, NewText: []byte(text)}}
	}
	return nil
}

// takesThread reports whether some parameter is a Thread already, in the wrong
// position or form.
func takesThread(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn.Type.Params, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == "Thread"
		return !found
	})
	return found
}

// threadName is t, or a name that no parameter has.
func threadName(fn *ast.FuncDecl) string {
	for _, name := range []string{"t", "th", "thread"} {
		taken := false
		ast.Inspect(fn, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			taken = taken || ok && id.Name == name
			return !taken
		})
		if !taken {
			return name
		}
	}
	return "_"
}
