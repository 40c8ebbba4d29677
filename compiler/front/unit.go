package front

import (
	"go/ast"
	"go/token"
	"strings"
	"sync"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/unroll"
)

// unit is a package as the compiler sees it: its declarations by name, each
// with what it refers to. Units are immutable once built and shared by all
// compilations of the process, except that a library's declarations are parsed
// when first reached.
type unit struct {
	path    string
	name    string
	lib     bool    // dsl, dsl/fast and the stand-ins for math: no subset check, positions inside are ours
	bodies  bool    // of a lib: its functions have bodies to compile, if they are not intrinsics
	files   []*file // none of a library
	decls   map[string]*decl
	methods map[string]map[string]*decl // receiver type -> method
	kernels []*decl
	strays  []*decl   // functions with comments that look like marks
	errs    diag.List // syntax errors

	attachOnce sync.Once
	attached   any // see attach

	writesOnce sync.Once
	writes     *writes // see written
}

// file is a source file of a unit.
type file struct {
	unit    *unit
	name    string // as positions show it
	ord     int    // index in the unit
	pkg     *ast.Ident
	tree    *ast.File // nil for a library
	tok     *token.File
	imports []*importSpec

	misplaced []unroll.Misplaced // comments //kiln:unroll

	loadOnce func() // reads imports of a library file on demand
}

type importSpec struct {
	name string // explicit name, "" for none
	path string
	spec *ast.ImportSpec
}

// decl is a top-level declaration of one name: a function, or the part of a
// const, type or var declaration that declares it.
type decl struct {
	unit  *unit
	file  *file
	ord   int // order in the file
	name  string
	recv  string // receiver type of a method
	next  *decl  // another declaration of the same name: a mistake of the user
	marks marks
	stray string         // a comment that looks like a mark and is none
	wants []*ast.Comment // //kiln:instances, see [Instances]

	lazy  *lazyText // for libraries: what the fields below are made from, once
	once  sync.Once
	node  ast.Decl
	tok   *token.File // of a declaration parsed alone
	refs  *refs
	isVar bool
}

// marks are the //kiln: comment lines above a function.
type marks struct {
	kernel, intrinsic, dispatch bool
	fastmath                    bool   // products and sums may be contracted
	consts                      string // what //kiln:const says, see constval.Values
}

func (m *marks) add(line string) {
	word, ok := strings.CutPrefix(strings.TrimSpace(line), "//kiln:")
	if !ok {
		return
	}
	if list, ok := strings.CutPrefix(word, "const "); ok {
		m.consts += " " + list
	}
	switch word {
	case "kernel":
		m.kernel = true
	case "intrinsic":
		m.intrinsic = true
	case "dispatch":
		m.dispatch = true
	case "fastmath":
		m.fastmath = true
	}
}

// instancesMark begins the comment lines that [Instances] reads.
const instancesMark = "//kiln:instances "

// strayMark reports whether a comment line was meant to be a mark.
func strayMark(line string) bool {
	line = strings.TrimSpace(line)
	if word, ok := strings.CutPrefix(line, "//kiln:"); ok {
		return word != "kernel" && word != "intrinsic" && word != "dispatch" && word != "fastmath" && !strings.HasPrefix(word, "const ") && !strings.HasPrefix(word, "instances ")
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "//")) == "kiln:kernel"
}

// lazyText is the text of a declaration that is parsed when needed. The names
// of a group share one.
type lazyText struct {
	once      sync.Once
	file, pkg string
	text      string
	line      int
	tree      *ast.File
	tok       *token.File
}

// writes are what the code of a package does to package variables, other than to read them.
type writes struct {
	own    map[string]write   // by name
	others map[string][]write // of other packages, by name
}

// write is a position where code assigns a package variable, or takes its address.
type write struct {
	pos  token.Pos
	file *file
	pkg  string // what the file calls the other package
	what string
}

// attach returns what is kept with the unit, which init makes once.
func (u *unit) attach(init func() any) any {
	u.attachOnce.Do(func() { u.attached = init() })
	return u.attached
}

func (u *unit) add(d *decl) {
	d.unit = u
	if d.recv != "" {
		if u.methods[d.recv] == nil {
			u.methods[d.recv] = map[string]*decl{}
		}
		d.next = u.methods[d.recv][d.name]
		u.methods[d.recv][d.name] = d
		return
	}
	if d.name == "_" || d.name == "init" {
		return // nothing can refer to it
	}
	d.next = u.decls[d.name]
	u.decls[d.name] = d
}
