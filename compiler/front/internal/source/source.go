package source

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"strings"
	"sync/atomic"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/lru"
	"github.com/gokiln/kiln/compiler/front/internal/unroll"
	"github.com/gokiln/kiln/compiler/input"
)

// Every parsed text gets its own range of positions, so that syntax trees can
// be shared between compilations, each of which has its own file set.
var nextBase atomic.Int64

func init() { nextBase.Store(1 << 10) }

// ParseFile parses text at a fresh range of positions.
func ParseFile(name string, text []byte, mode parser.Mode) (*ast.File, *token.File, error) {
	size := int64(len(text)) + 2
	base := int(nextBase.Add(size) - size)
	fset := token.NewFileSet()
	fset.AddFile("", base-1, 0)
	f, err := parser.ParseFile(fset, name, text, mode)
	return f, fset.File(token.Pos(base)), err
}

// maxParsed bounds what is kept of parsed packages, in bytes: dozens of them.
const maxParsed = 64 << 20

// Parsed is what is kept of parsed packages, by the hash of their text.
var Parsed = lru.Cache[[32]byte, *Unit]{Most: maxParsed}

// What a parsed package takes in memory, as measured.
const (
	unitBytes = 4 << 10 // itself, and
	textBytes = 14      // each byte of its text
)

// Parse parses a package, or finds it by the hash of its text.
func Parse(p *input.Package) *Unit {
	key := p.Sum()
	if u, ok := Parsed.Get(key); ok {
		return u
	}
	u := parseUnit(p)
	n := unitBytes
	for _, f := range p.Files {
		n += textBytes * len(f.Text)
	}
	Parsed.Put(key, u, n)
	return u
}

func parseUnit(p *input.Package) *Unit {
	u := &Unit{Path: p.Path, Decls: map[string]*Decl{}, Methods: map[string]map[string]*Decl{}}
	dir := p.DisplayDir
	if dir == "" {
		dir = p.Path
	}
	for i, f := range p.Files {
		if !p.Compiles(f) || !f.Wanted() {
			continue
		}
		u.addFile(path.Join(dir, path.Base(f.Name)), i, f.Text)
	}
	return u
}

func (u *Unit) addFile(name string, ord int, text []byte) {
	tree, tok, err := ParseFile(name, text, parser.ParseComments)
	if err != nil {
		u.syntaxErrors(name, err)
	}
	if tree == nil || tree.Name == nil {
		return
	}
	if u.Name == "" {
		u.Name = tree.Name.Name
	}
	f := &File{Unit: u, Name: name, Ord: ord, Package: tree.Name, Tree: tree, Tok: tok}
	u.Files = append(u.Files, f)
	f.Misplaced = unroll.Insert(tree, tok, text)
	for _, s := range tree.Imports {
		f.Imports = append(f.Imports, newImport(s))
	}
	for _, n := range tree.Decls {
		u.addDecl(f, tree, n)
	}
}

func newImport(s *ast.ImportSpec) *Import {
	im := &Import{Path: strings.Trim(s.Path.Value, "\"`"), Spec: s}
	if s.Name != nil {
		im.Name = s.Name.Name
	}
	return im
}

func (u *Unit) syntaxErrors(name string, err error) {
	list, ok := err.(scanner.ErrorList)
	if !ok {
		u.Errs.Add(diag.New(diag.Position{File: name}, diag.Syntax, err.Error(), ""))
		return
	}
	for _, e := range list {
		u.Errs.Add(diag.New(diag.Position{File: name, Line: e.Pos.Line, Col: e.Pos.Column}, diag.Syntax, e.Msg, ""))
	}
}

// addDecl records the names that n declares. The parts of a group become
// declarations of their own, because a group may mix what kernels need with
// what only the host can compile.
func (u *Unit) addDecl(f *File, tree *ast.File, n ast.Decl) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		d := &Decl{File: f, Ord: int(n.Pos()), Name: n.Name.Name, Recv: receiverName(n), Node: n}
		if n.Doc != nil {
			for _, c := range n.Doc.List {
				d.Marks.add(c.Text)
				if strayMark(c.Text) {
					d.Stray = c.Text
				}
				if strings.HasPrefix(c.Text, InstancesMark) {
					d.Wants = append(d.Wants, c)
				}
			}
		}
		switch {
		case d.Marks.Kernel:
		case d.Marks.FastMath:
			d.Stray = "//kiln:fastmath"
		case len(d.Wants) > 0:
			d.Stray = strings.TrimSpace(InstancesMark)
		}
		d.Refs = Collect(n, tree)
		u.add(d)
		if d.Marks.Kernel {
			u.Kernels = append(u.Kernels, d)
		}
		if d.Stray != "" {
			u.Strays = append(u.Strays, d)
		}
	case *ast.GenDecl:
		u.addSpecs(f, tree, n)
	}
}

func (u *Unit) addSpecs(f *File, tree *ast.File, n *ast.GenDecl) {
	var last *ast.ValueSpec
	for i, s := range n.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			one := &ast.GenDecl{TokPos: n.TokPos, Tok: n.Tok, Specs: []ast.Spec{s}}
			u.add(&Decl{File: f, Ord: int(s.Pos()), Name: s.Name.Name, Node: one, Refs: Collect(one, tree)})
		case *ast.ValueSpec:
			if n.Tok == token.CONST {
				if len(s.Values) > 0 || s.Type != nil {
					last = s
				} else if last != nil {
					s = &ast.ValueSpec{Names: s.Names, Type: last.Type, Values: last.Values}
				}
			}
			one := &ast.GenDecl{TokPos: n.TokPos, Tok: n.Tok, Specs: atIota(s, i)}
			r := Collect(one, tree)
			for _, id := range s.Names {
				u.add(&Decl{File: f, Ord: int(s.Pos()), Name: id.Name, Node: one, Refs: r, IsVar: n.Tok == token.VAR})
			}
		}
	}
}

// atIota puts a spec behind n blank ones if it uses iota.
func atIota(s *ast.ValueSpec, n int) []ast.Spec {
	uses := false
	for _, v := range s.Values {
		ast.Inspect(v, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			uses = uses || ok && id.Name == "iota"
			return !uses
		})
	}
	if !uses {
		n = 0
	}
	specs := make([]ast.Spec, n+1)
	for i := range n {
		zero := &ast.BasicLit{ValuePos: s.Pos(), Kind: token.INT, Value: "0"}
		specs[i] = &ast.ValueSpec{Names: []*ast.Ident{{NamePos: s.Pos(), Name: "_"}}, Values: []ast.Expr{zero}}
	}
	specs[n] = s
	return specs
}

func receiverName(n *ast.FuncDecl) string {
	if n.Recv == nil || len(n.Recv.List) == 0 {
		return ""
	}
	t := n.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "_"
		}
	}
}
