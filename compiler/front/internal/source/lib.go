package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/fast"
)

// Libraries are split into declarations by looking at lines only, which
// gofmt makes reliable, and each declaration is parsed when a kernel first
// reaches it. Both happen once in a process.
var Libraries = map[string]func() *Unit{
	input.DSL:     sync.OnceValue(func() *Unit { return loadLib(input.DSL, "dsl", dsl.API()) }),
	input.Fast:    sync.OnceValue(func() *Unit { return loadLib(input.Fast, "fast", fast.API()) }),
	input.Math:    sync.OnceValue(func() *Unit { return standIn(input.Math, "math", MathText) }),
	input.Bits:    sync.OnceValue(func() *Unit { return standIn(input.Bits, "bits", BitsText) }),
	input.Float16: sync.OnceValue(func() *Unit { return standIn(input.Float16, "float16", Float16Text) }),
}

// threadType replaces the declaration of dsl.Thread, whose field belongs to
// the host.
const threadType = "type Thread struct{}"

// loadLib makes the unit of a package of ours from the source that it carries.
func loadLib(importPath, name string, api fs.FS) *Unit {
	u := newLib(importPath, name)
	u.bodies = true
	names, err := fs.Glob(api, "*.go")
	if err != nil {
		panic(fmt.Sprintf("package %s does not carry its source: %v", name, err))
	}
	for i, file := range names {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(api, file)
		if err != nil {
			panic(fmt.Sprintf("package %s does not carry its source: %v", name, err))
		}
		u.split(path.Join(importPath, file), i, string(text))
	}
	return u
}

// standIn makes a unit of a text in which every function is an intrinsic.
func standIn(path, name, text string) *Unit {
	u := newLib(path, name)
	u.split(path+"/"+name+".go", 0, text)
	for _, d := range u.Decls {
		d.Marks.Intrinsic = true
	}
	for _, ms := range u.Methods {
		for _, d := range ms {
			d.Marks.Intrinsic = true
		}
	}
	return u
}

func newLib(path, name string) *Unit {
	return &Unit{Path: path, Name: name, Lib: true, Decls: map[string]*Decl{}, Methods: map[string]map[string]*Decl{}}
}

// splitter cuts one library file.
type splitter struct {
	u     *Unit
	f     *File
	text  string
	marks Marks
	ord   int
}

func (u *Unit) split(name string, ord int, text string) {
	s := &splitter{u: u, text: text}
	s.f = &File{Name: name, Ord: ord, Package: ast.NewIdent(u.Name)}
	s.f.LoadOnce = sync.OnceFunc(func() { s.f.readImports(text) })
	s.run()
}

// readImports parses the head of a library file.
func (f *File) readImports(text string) {
	tree, tok, err := ParseFile(f.Name, []byte(text), parser.ImportsOnly)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", f.Name, err))
	}
	f.Tok = tok
	for _, s := range tree.Imports {
		f.Imports = append(f.Imports, newImport(s))
	}
}

// run finds the lines that begin declarations. A declaration ends at the first
// line that closes it in column 0, or on its first line.
func (s *splitter) run() {
	line, at := 0, 0
	start, startLine := -1, 0
	flush := func(end int) {
		if start >= 0 {
			s.declare(s.text[start:end], startLine)
			start = -1
		}
	}
	for at < len(s.text) {
		end := strings.IndexByte(s.text[at:], '\n')
		if end < 0 {
			end = len(s.text) - at - 1
		}
		text := s.text[at : at+end+1]
		line++
		switch {
		case strings.HasPrefix(text, "//"):
			flush(at)
			s.marks.add(text)
		case strings.HasPrefix(text, "func "), strings.HasPrefix(text, "type "),
			strings.HasPrefix(text, "const "), strings.HasPrefix(text, "var "):
			flush(at)
			start, startLine = at, line
		case strings.HasPrefix(text, "import "), strings.HasPrefix(text, "package "):
			s.marks = Marks{}
		}
		at += end + 1
	}
	flush(len(s.text))
}

// funcNames returns the name of the function whose text begins at text, and of
// the type of its receiver.
func funcNames(text string) (recv, name string) {
	text = strings.TrimPrefix(text, "func ")
	if strings.HasPrefix(text, "(") {
		inside, rest, _ := strings.Cut(text[1:], ") ")
		inside = inside[strings.LastIndexByte(inside, ' ')+1:]
		recv, text = Ident(strings.TrimPrefix(inside, "*")), rest
	}
	return recv, Ident(text)
}

// Ident returns the identifier at the front of text.
func Ident(text string) string {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return text[:i]
		}
	}
	return text
}

// identList appends the identifiers of a list like "a, b = 1, 2".
func identList(names []string, text string) []string {
	for {
		name := Ident(text)
		if name == "" {
			return names
		}
		names = append(names, name)
		rest, ok := strings.CutPrefix(text[len(name):], ", ")
		if !ok {
			return names
		}
		text = rest
	}
}

// specNames returns the names that a const, type or var declaration declares.
func specNames(text string) (names []string) {
	_, text, _ = strings.Cut(text, " ")
	if !strings.HasPrefix(text, "(") {
		return identList(nil, text)
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "\t"); ok {
			names = identList(names, rest)
		}
	}
	return names
}

// declare records the names of one declaration.
func (s *splitter) declare(text string, line int) {
	seen := s.marks
	s.marks = Marks{}
	if s.u.Lib && strings.HasPrefix(text, "type Thread ") {
		text = threadType
	}
	if !strings.HasPrefix(text, "func ") {
		s.add(specNames(text), "", text, line, seen)
		return
	}
	if seen.Intrinsic || !s.u.bodies || seen.Dispatch {
		text = signature(text)
	}
	recv, name := funcNames(text)
	s.add([]string{name}, recv, text, line, seen)
}

// add records a text under its names.
func (s *splitter) add(names []string, recv, text string, line int, marks Marks) {
	lazy := &lazyText{file: s.f.Name, pkg: s.u.Name, text: text, line: line}
	for _, name := range names {
		s.ord++
		s.u.add(&Decl{File: s.f, Ord: s.ord, Name: name, Recv: recv, Marks: marks, lazy: lazy})
	}
}

// signature cuts the body off a function.
func signature(text string) string {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '{':
			if depth == 0 {
				return text[:i]
			}
		}
	}
	return text
}
