package front

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
var libraries = map[string]func() *unit{
	input.DSL:     sync.OnceValue(func() *unit { return loadLib(input.DSL, "dsl", dsl.API()) }),
	input.Fast:    sync.OnceValue(func() *unit { return loadLib(input.Fast, "fast", fast.API()) }),
	input.Math:    sync.OnceValue(func() *unit { return standIn(input.Math, "math", mathSource) }),
	input.Bits:    sync.OnceValue(func() *unit { return standIn(input.Bits, "bits", bitsSource) }),
	input.Float16: sync.OnceValue(func() *unit { return standIn(input.Float16, "float16", float16Source) }),
}

// threadType replaces the declaration of dsl.Thread, whose field belongs to
// the host.
const threadType = "type Thread struct{}"

// loadLib makes the unit of a package of ours from the source that it carries.
func loadLib(importPath, name string, api fs.FS) *unit {
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
func standIn(path, name, text string) *unit {
	u := newLib(path, name)
	u.split(path+"/"+name+".go", 0, text)
	for _, d := range u.decls {
		d.marks.intrinsic = true
	}
	for _, ms := range u.methods {
		for _, d := range ms {
			d.marks.intrinsic = true
		}
	}
	return u
}

func newLib(path, name string) *unit {
	return &unit{path: path, name: name, lib: true, decls: map[string]*decl{}, methods: map[string]map[string]*decl{}}
}

// splitter cuts one library file.
type splitter struct {
	u     *unit
	f     *file
	text  string
	marks marks
	ord   int
}

func (u *unit) split(name string, ord int, text string) {
	s := &splitter{u: u, text: text}
	s.f = &file{name: name, ord: ord, pkg: ast.NewIdent(u.name)}
	s.f.loadOnce = sync.OnceFunc(func() { s.f.readImports(text) })
	s.run()
}

// readImports parses the head of a library file.
func (f *file) readImports(text string) {
	tree, tok, err := parseFile(f.name, []byte(text), parser.ImportsOnly)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", f.name, err))
	}
	f.tok = tok
	for _, s := range tree.Imports {
		f.imports = append(f.imports, newImport(s))
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
			s.marks = marks{}
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
		recv, text = ident(strings.TrimPrefix(inside, "*")), rest
	}
	return recv, ident(text)
}

// ident returns the identifier at the front of text.
func ident(text string) string {
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
		name := ident(text)
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
	s.marks = marks{}
	if s.u.lib && strings.HasPrefix(text, "type Thread ") {
		text = threadType
	}
	if !strings.HasPrefix(text, "func ") {
		s.add(specNames(text), "", text, line, seen)
		return
	}
	if seen.intrinsic || !s.u.bodies || seen.dispatch {
		text = signature(text)
	}
	recv, name := funcNames(text)
	s.add([]string{name}, recv, text, line, seen)
}

// add records a text under its names.
func (s *splitter) add(names []string, recv, text string, line int, marks marks) {
	lazy := &lazyText{file: s.f.name, pkg: s.u.name, text: text, line: line}
	for _, name := range names {
		s.ord++
		s.u.add(&decl{file: s.f, ord: s.ord, name: name, recv: recv, marks: marks, lazy: lazy})
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
