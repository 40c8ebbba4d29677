package analyzer

import (
	"bytes"
	"go/ast"
	"path"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/front"
)

// ownFile is a file of the package under analysis, as syntax and as text.
type ownFile struct {
	tree *ast.File
	front.File
}

// ownFiles are the files of the package, tests aside.
type ownFiles []ownFile

// compiled returns the package as a program that imports it would give it to
// the compiler: the embedded files if it registers them, else all.
func (fs ownFiles) compiled(importPath string) *front.Package {
	p := &front.Package{Path: importPath}
	registered := fs.registered()
	for _, f := range fs {
		if !registered || fs.embeds(f.Name) {
			p.Files = append(p.Files, f.File)
		}
	}
	return p
}

// all returns the text of the files.
func (fs ownFiles) all() []front.File {
	out := make([]front.File, len(fs))
	for i, f := range fs {
		out[i] = f.File
	}
	return out
}

func (fs ownFiles) hasKernels() bool {
	for _, f := range fs {
		if f.hasKernel() {
			return true
		}
	}
	return false
}

// left returns the files with kernels that the package does not register.
func (fs ownFiles) left() []string {
	var out []string
	registered := fs.registered()
	for _, f := range fs {
		if f.hasKernel() && !(registered && fs.embeds(f.Name)) {
			out = append(out, f.Name)
		}
	}
	return out
}

// hasKernel reports whether the file has something to compile: a kernel, or a
// function literal that is made into a handle.
func (f ownFile) hasKernel() bool {
	return bytes.Contains(f.Text, []byte("\n//kiln:kernel")) || front.HasLiterals(f.File)
}

// registered reports whether some file calls dsl.Source and some Go file is
// embedded.
func (fs ownFiles) registered() bool {
	calls, embeds := false, false
	for _, f := range fs {
		calls = calls || f.callsSource()
		embeds = embeds || fs.embeds(f.Name)
	}
	return calls && embeds
}

func (f ownFile) callsSource() bool {
	name := f.importName(dslPath)
	found := false
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Source" {
			id, ok := s.X.(*ast.Ident)
			found = found || ok && name != "" && id.Name == name
		}
		return !found
	})
	return found
}

// importName returns the name under which the file imports a package, "" if it
// does not.
func (f ownFile) importName(importPath string) string {
	for _, s := range f.tree.Imports {
		if p, err := strconv.Unquote(s.Path.Value); err != nil || p != importPath {
			continue
		}
		if s.Name != nil {
			return s.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

// embeds reports whether a //go:embed line of some file covers name.
func (fs ownFiles) embeds(name string) bool {
	for _, f := range fs {
		for _, g := range f.tree.Comments {
			for _, c := range g.List {
				if rest, ok := strings.CutPrefix(c.Text, "//go:embed "); ok && covers(rest, name) {
					return true
				}
			}
		}
	}
	return false
}

// covers reports whether one of the patterns of a //go:embed line matches name.
func covers(patterns, name string) bool {
	for _, p := range strings.Fields(patterns) {
		if q, err := strconv.Unquote(p); err == nil {
			p = q
		}
		p = strings.TrimPrefix(p, "all:")
		if ok, err := path.Match(p, name); ok && err == nil || p == "." {
			return true
		}
	}
	return false
}
