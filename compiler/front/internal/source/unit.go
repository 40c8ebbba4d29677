package source

import (
	"go/ast"
	"go/token"
	"strings"
	"sync"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/unroll"
)

// Unit is a package as the compiler sees it: its declarations by name, each
// with what it refers to. Units are immutable once built and shared by all
// compilations of the process, except that a library's declarations are parsed
// when first reached.
type Unit struct {
	Path    string
	Name    string
	Lib     bool    // dsl, dsl/fast and the stand-ins for math: no subset check, positions inside are ours
	bodies  bool    // of a lib: its functions have bodies to compile, if they are not intrinsics
	Files   []*File // none of a library
	Decls   map[string]*Decl
	Methods map[string]map[string]*Decl // receiver type -> method
	Kernels []*Decl
	Strays  []*Decl   // functions with comments that look like marks
	Errs    diag.List // syntax errors

	attachOnce sync.Once
	attached   any // see Attach

	writesOnce sync.Once
	writes     *Writes // see Written
}

// File is a source file of a unit.
type File struct {
	Unit    *Unit
	Name    string // as positions show it
	Ord     int    // index in the unit
	Package *ast.Ident
	Tree    *ast.File // nil for a library
	Tok     *token.File
	Imports []*Import

	Misplaced []unroll.Misplaced // comments //kiln:unroll

	LoadOnce func() // reads imports of a library file on demand
}

// Import is an import of a file.
type Import struct {
	Name string // explicit name, "" for none
	Path string
	Spec *ast.ImportSpec
}

// Decl is a top-level declaration of one name: a function, or the part of a
// const, type or var declaration that declares it.
type Decl struct {
	Unit  *Unit
	File  *File
	Ord   int // order in the file
	Name  string
	Recv  string // receiver type of a method
	Next  *Decl  // another declaration of the same name: a mistake of the user
	Marks Marks
	Stray string         // a comment that looks like a mark and is none
	Wants []*ast.Comment // //kiln:instances

	lazy  *lazyText // for libraries: what the fields below are made from, once
	once  sync.Once
	Node  ast.Decl
	Tok   *token.File // of a declaration parsed alone
	Refs  *Refs
	IsVar bool
}

// Marks are the //kiln: comment lines above a function.
type Marks struct {
	Kernel, Intrinsic, Dispatch bool
	FastMath                    bool   // products and sums may be contracted
	Consts                      string // what //kiln:const says, see constval.Values
}

func (m *Marks) add(line string) {
	word, ok := strings.CutPrefix(strings.TrimSpace(line), "//kiln:")
	if !ok {
		return
	}
	if list, ok := strings.CutPrefix(word, "const "); ok {
		m.Consts += " " + list
	}
	switch word {
	case "kernel":
		m.Kernel = true
	case "intrinsic":
		m.Intrinsic = true
	case "dispatch":
		m.Dispatch = true
	case "fastmath":
		m.FastMath = true
	}
}

// InstancesMark begins the comment lines that ask for instances of a kernel.
const InstancesMark = "//kiln:instances "

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

// Writes are what the code of a package does to package variables, other than to read them.
type Writes struct {
	Own    map[string]Write   // by name
	Others map[string][]Write // of other packages, by name
}

// Write is a position where code assigns a package variable, or takes its address.
type Write struct {
	Pos     token.Pos
	File    *File
	Package string // what the file calls the other package
	What    string
}

// Attach returns what is kept with the unit, which init makes once.
func (u *Unit) Attach(init func() any) any {
	u.attachOnce.Do(func() { u.attached = init() })
	return u.attached
}

func (u *Unit) add(d *Decl) {
	d.Unit = u
	if d.Recv != "" {
		if u.Methods[d.Recv] == nil {
			u.Methods[d.Recv] = map[string]*Decl{}
		}
		d.Next = u.Methods[d.Recv][d.Name]
		u.Methods[d.Recv][d.Name] = d
		return
	}
	if d.Name == "_" || d.Name == "init" {
		return // nothing can refer to it
	}
	d.Next = u.Decls[d.Name]
	u.Decls[d.Name] = d
}

// Kernel returns the kernel of this name, nil if there is none.
func (u *Unit) Kernel(name string) *Decl {
	for _, k := range u.Kernels {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// OfLibrary reports whether d is of a package that the compiler provides: Node and what follows it
// are there once d is loaded.
func (d *Decl) OfLibrary() bool { return d.lazy != nil }
