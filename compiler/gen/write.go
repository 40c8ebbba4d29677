package gen

import (
	"fmt"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/front"
)

const (
	module      = "github.com/gokiln/kiln/"
	dslPath     = module + "dsl"
	jitPath     = module + "jit"
	runtimePath = module + "runtime"
)

// writer writes one file.
type writer struct {
	pkg   string          // name of the package
	path  string          // and its import path
	taken map[string]bool // names that the package declares
	group []*launcher

	imports map[string]string // path -> name in the file
	b       strings.Builder
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.b, format, args...) }

// text returns the file.
func (w *writer) text() ([]byte, error) {
	w.nameImports()
	w.printf("package %s\n\nimport (\n", w.pkg)
	for _, p := range w.sortedImports() {
		if name := w.imports[p]; name != path.Base(p) {
			w.printf("\t%s %q\n", name, p)
		} else {
			w.printf("\t%q\n", p)
		}
	}
	w.printf(")\n")
	for _, l := range w.group {
		w.launcher(l)
	}
	before := Header + "\n\n"
	if c := w.group[0].Constraint; c != "" {
		before += c + "\n\n"
	}
	return finish(before, w.b.String())
}

// nameImports gives the packages that the file needs names that nothing else in it has.
func (w *writer) nameImports() {
	used := map[string]bool{}
	for name := range w.taken {
		used[name] = true
	}
	names := map[string]string{} // of packages
	note := func(p *types.Package) string {
		if p.Path() != w.group[0].Package {
			names[p.Path()] = p.Name()
		}
		return ""
	}
	for _, l := range w.group {
		for tp := range l.Type.TypeParams().TypeParams() {
			used[tp.Obj().Name()] = true
			types.TypeString(tp.Constraint(), note)
		}
		types.TypeString(l.Type.Params(), note)
	}
	w.imports = map[string]string{}
	take := func(path string, wanted ...string) {
		for i := 2; ; i++ {
			for _, name := range wanted {
				if !used[name] {
					used[name], w.imports[path] = true, name
					return
				}
			}
			wanted = []string{wanted[0] + strconv.Itoa(i)}
		}
	}
	take(dslPath, "dsl", "kilndsl")
	take(jitPath, "jit", "kilnjit")
	take(runtimePath, "runtime", "kilnruntime")
	var others []string
	for p := range names {
		if w.imports[p] == "" {
			others = append(others, p)
		}
	}
	slices.Sort(others)
	for _, p := range others {
		take(p, names[p])
	}
}

func (w *writer) sortedImports() []string {
	var paths []string
	for p := range w.imports {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}

// typ writes a type as the file has to.
func (w *writer) typ(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return w.imports[p.Path()] })
}

// launcher writes the functions for one kernel.
func (w *writer) launcher(l *launcher) {
	w.entry(l)
	typeParams, typeArgs := w.typeParams(l)

	jit, rt := w.imports[jitPath], w.imports[runtimePath]
	w.comment(l, l.doc())
	stream, grid := l.free("s", "stream"), l.free("g", "grid")
	args := make([]string, len(l.params))
	for i, p := range l.params {
		args[i] = p.name
	}
	list := append([]string{stream, grid}, args...)
	w.printf("func %s%s(%s) error {\n\treturn %s%s().Launch(%s)\n}\n", l.launch, typeParams,
		strings.Join(append([]string{stream + " *" + rt + ".Stream", grid + " " + rt + ".Grid"}, w.params(l.params)...), ", "),
		l.handle, typeArgs, strings.Join(list, ", "))

	var fixed []param
	var values []string
	for _, p := range l.params {
		if p.fixed {
			fixed = append(fixed, p)
			values = append(values, p.name)
		}
	}
	dev := l.free("dev", "device")
	doc := fmt.Sprintf("%s compiles or loads %s for a device, as its first launch there would", l.prepare, l.Kernel)
	if len(fixed) > 0 {
		doc += " with the same compile-time values"
	}
	w.comment(l, doc+".")
	w.printf("func %s%s(%s) error {\n\treturn %s%s().Prepare(%s)\n}\n", l.prepare, typeParams,
		strings.Join(append([]string{dev + " *" + rt + ".Device"}, w.params(fixed)...), ", "),
		l.handle, typeArgs, strings.Join(append([]string{dev}, values...), ", "))

	w.comment(l, fmt.Sprintf("%s returns the handle of %s.", l.handle, l.Kernel))
	// The variable keeps launchers that are stale from being built, and is nothing in the code.
	typ := w.funcType(l)
	w.printf("func %s%s() *%s.Kernel {\n\tvar _ %s = %s%s\n\treturn %s.Instance[%s](&%s)\n}\n",
		l.handle, typeParams, jit, typ, l.Kernel, typeArgs, jit, typ, l.entry)
}

// entry writes the variable that names a kernel.
func (w *writer) entry(l *launcher) {
	w.printf("\nvar %s = %s.Entry{Pkg: %q, Name: %q", l.entry, w.imports[jitPath], w.path, l.Kernel)
	if w.pkg == "main" {
		w.printf(", Main: true")
	}
	if l.Type.TypeParams().Len() > 0 {
		w.printf(", Generic: true")
	}
	w.printf("}\n")
}

// comment writes a documentation comment.
func (w *writer) comment(l *launcher, text string) {
	w.printf("\n")
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); line == "" || line[0] == '\t' {
			w.printf("//%s\n", line)
		} else {
			w.printf("// %s\n", line)
		}
	}
	w.printf("//\n%s%s\n", launchers, l.Kernel)
}

// typeParams returns the declaration and the use of a kernel's type parameters.
func (w *writer) typeParams(l *launcher) (declared, used string) {
	list := l.Type.TypeParams()
	if list.Len() == 0 {
		return "", ""
	}
	var params, names []string
	last := ""
	for tp := range list.TypeParams() {
		name, constraint := tp.Obj().Name(), w.typ(tp.Constraint())
		if constraint == last {
			params[len(params)-1] += ", " + name
		} else {
			params = append(params, name)
		}
		last = constraint
		names = append(names, name)
	}
	i := 0
	last = ""
	for tp := range list.TypeParams() {
		if constraint := w.typ(tp.Constraint()); constraint != last {
			params[i] += " " + constraint
			i, last = i+1, constraint
		}
	}
	return "[" + strings.Join(params, ", ") + "]", "[" + strings.Join(names, ", ") + "]"
}

// params writes parameters; neighbours of one type have it once.
func (w *writer) params(list []param) []string {
	var out []string
	for i, p := range list {
		typ := w.launched(p)
		if i+1 < len(list) && w.launched(list[i+1]) == typ {
			typ = ""
		}
		out = append(out, strings.TrimSpace(p.name+" "+typ))
	}
	return out
}

// launched is the type of what a launch passes for a parameter.
func (w *writer) launched(p param) string {
	if p.elem != nil {
		return w.slice(p.elem)
	}
	return w.field(p.typ)
}

func (w *writer) slice(elem types.Type) string {
	return w.imports[runtimePath] + ".Slice[" + w.typ(elem) + "]"
}

// field is the type of what a launch passes for a parameter, or for a field of one: for a
// struct that has slices a struct without a name, to which programs can assign their own.
func (w *writer) field(t types.Type) string {
	if !front.HoldsSlices(t) {
		if s, ok := t.Underlying().(*types.Slice); ok {
			return w.slice(s.Elem())
		}
		return w.typ(t)
	}
	var list []string
	for f := range t.Underlying().(*types.Struct).Fields() {
		list = append(list, f.Name()+" "+w.field(f.Type()))
	}
	return "struct { " + strings.Join(list, "; ") + " }"
}

// funcType is the type of the kernel.
func (w *writer) funcType(l *launcher) string {
	var list []string
	for v := range l.Type.Params().Variables() {
		list = append(list, w.typ(v.Type()))
	}
	return "func(" + strings.Join(list, ", ") + ")"
}
