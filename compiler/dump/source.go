package dump

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"strings"

	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
)

// Source is what a kernel reaches of a Go file.
type Source struct {
	File  string // as positions name it
	Parts [][]SourceLine
}

// SourceLine is a line of Go.
type SourceLine struct {
	N       int
	Tokens  []GoToken
	Reached bool // some operation of the IR comes from it
}

// GoToken is a piece of Go with the class that colours it: "kw", "com", "lit"
// or nothing.
type GoToken struct{ Text, Class string }

// texts remembers the packages that the front end loads.
type texts struct {
	load front.Loader
	seen map[string]*front.Package // by directory in positions
}

func (t *texts) loader(importPath string) (*front.Package, error) {
	p, err := t.load(importPath)
	if err == nil && p != nil {
		t.seen[cmp.Or(p.DisplayDir, p.Path)] = p
	}
	return p, err
}

// sources returns the declarations that the operations of m come from.
// Operations out of package dsl have the position of the call in the kernel.
func (t *texts) sources(m *ir.Module) []Source {
	lines := map[string]map[int]bool{}
	var files []string
	for _, p := range m.Pos {
		if p.File == "" {
			continue
		}
		if lines[p.File] == nil {
			lines[p.File] = map[int]bool{}
			files = append(files, p.File)
		}
		lines[p.File][p.Line] = true
	}
	var out []Source
	for _, file := range files {
		if body, ok := t.text(file); ok {
			out = append(out, newSource(file, body, lines[file]))
		}
	}
	return out
}

// text returns the text of a file that a position names.
func (t *texts) text(file string) ([]byte, bool) {
	dir, base := path.Split(file)
	dir = path.Clean(dir)
	if p := t.seen[dir]; p != nil {
		for _, f := range p.Files {
			if f.Name == base {
				return f.Text, true
			}
		}
	}
	return nil, false
}

func newSource(file string, body []byte, reached map[int]bool) Source {
	s := Source{File: file}
	all := goLines(body)
	for i := range all {
		all[i].Reached = reached[all[i].N]
	}
	for _, r := range declared(body, reached) {
		s.Parts = append(s.Parts, all[r[0]-1:min(r[1], len(all))])
	}
	return s
}

// declared returns the first and last line of each declaration that holds a
// reached line.
func declared(body []byte, reached map[int]bool) [][2]int {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", body, parser.ParseComments)
	if err != nil {
		return [][2]int{{1, strings.Count(string(body), "\n") + 1}}
	}
	var out [][2]int
	for _, d := range f.Decls {
		from, to := d.Pos(), d.End()
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Doc != nil {
			from = fn.Doc.Pos()
		}
		r := [2]int{fset.Position(from).Line, fset.Position(to).Line}
		for n := r[0]; n <= r[1]; n++ {
			if reached[n] {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

// goLines splits a Go file into lines of coloured tokens.
func goLines(body []byte) []SourceLine {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", fset.Base(), len(body)), body, func(token.Position, string) {}, scanner.ScanComments)
	out := []SourceLine{{N: 1}}
	add := func(text, class string) {
		for i, part := range strings.Split(text, "\n") {
			if i > 0 {
				out = append(out, SourceLine{N: len(out) + 1})
			}
			if last := &out[len(out)-1]; part != "" {
				last.Tokens = append(last.Tokens, GoToken{part, class})
			}
		}
	}
	at := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		from := fset.Position(pos).Offset
		if tok == token.SEMICOLON && lit != ";" {
			continue // inserted
		}
		end := from + len(lit)
		if lit == "" {
			end = from + len(tok.String())
		}
		add(string(body[at:from]), "")
		add(string(body[from:end]), class(tok))
		at = end
	}
	add(strings.TrimSuffix(string(body[at:]), "\n"), "")
	return out
}

func class(tok token.Token) string {
	switch {
	case tok.IsKeyword():
		return "kw"
	case tok == token.COMMENT:
		return "com"
	case tok.IsLiteral() && tok != token.IDENT:
		return "lit"
	}
	return ""
}
