package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// finding is one broken rule at one place.
type finding struct {
	pos  token.Position
	rule string
	msg  string
}

// reporter receives the findings of one rule.
type reporter func(pos token.Pos, format string, args ...any)

// rules is the table of rules.
var rules = []struct {
	name  string
	check func(*pkg, reporter)
}{
	{"arrows", checkArrows},
	{"homes", checkHomes},
	{"stacks", checkStacks},
	{"names", checkNames},
	{"identity", checkIdentity},
	{"kernels", checkKernels},
	{"doc", checkDoc},
}

// check applies every rule to every package.
func check(pkgs []*pkg) []finding {
	var all []finding
	for _, p := range pkgs {
		for _, r := range rules {
			r.check(p, func(pos token.Pos, format string, args ...any) {
				all = append(all, finding{p.fset.Position(pos), r.name, fmt.Sprintf(format, args...)})
			})
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.pos.Filename, b.pos.Filename), a.pos.Offset-b.pos.Offset, cmp.Compare(a.rule, b.rule))
	})
	return all
}

// imports calls fn for each import of the package.
func imports(p *pkg, fn func(f file, spec *ast.ImportSpec, path string)) {
	for _, f := range p.files {
		for _, spec := range f.ast.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil {
				fn(f, spec, path)
			}
		}
	}
}

// within says whether path is root or lies below it.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// withinAny says whether path is one of roots or lies below one.
func withinAny(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return within(path, root) })
}

// checkArrows holds imports within the module to the table.
func checkArrows(p *pkg, report reporter) {
	a, ok := arrowOf(p.rel)
	if !ok {
		report(p.files[0].ast.Package, "folder %s has no row in the table of import arrows; add one to internal/kilnvet/arrows.go that says what it may import", p.rel)
		return
	}
	imports(p, func(f file, spec *ast.ImportSpec, path string) {
		rel, inside := strings.CutPrefix(path, p.module+"/")
		if !inside || f.test || within(rel, a.from) || slices.Contains(a.to, "*") || a.allows(rel) {
			return
		}
		may := "nothing of this module"
		if len(a.to) > 0 {
			may = strings.Join(a.to, ", ")
		}
		report(spec.Pos(), "%s must not import %s; %s may import %s", p.rel, rel, a.from, may)
	})
}

// allows reports whether the row has a package.
func (a *arrow) allows(rel string) bool {
	for _, to := range a.to {
		if alone, ok := strings.CutSuffix(to, "/."); ok && rel == alone || !ok && within(rel, to) {
			return true
		}
	}
	return false
}

// arrowOf returns the row with the longest folder that holds rel. The folder of a row of each
// folder is the one that rel is in.
func arrowOf(rel string) (arrow, bool) {
	var best arrow
	each := false // best is of each folder
	for _, a := range arrows {
		parent, all := strings.CutSuffix(a.from, "/*")
		if all {
			below, ok := strings.CutPrefix(rel, parent+"/")
			if !ok {
				continue
			}
			name, _, _ := strings.Cut(below, "/")
			a.from = parent + "/" + name
		}
		holds := within(rel, a.from) && (rel == a.from || !a.leaf)
		longer := len(a.from) > len(best.from) || len(a.from) == len(best.from) && each
		if holds && longer {
			best, each = a, all
		}
	}
	return best, best.from != ""
}

// homes are modules that one folder imports, with what others use instead.
var homes = []struct{ module, folder, instead string }{
	{"github.com/ebitengine/purego", "internal/dl", "use its Open, Sym and Call"},
	{"github.com/llir/llvm", "compiler/llvm", "use its Emit"},
}

// checkHomes keeps foreign calls in one package, and modules in their folders.
func checkHomes(p *pkg, report reporter) {
	imports(p, func(_ file, spec *ast.ImportSpec, path string) {
		if path == "C" {
			report(spec.Pos(), "import \"C\" needs a C compiler; the module builds with CGO_ENABLED=0, use %s", homes[0].folder)
		}
		for _, h := range homes {
			if within(path, h.module) && p.rel != h.folder {
				report(spec.Pos(), "only %s imports %s; %s", h.folder, h.module, h.instead)
			}
		}
	})
}

// checkStacks keeps numbers of goroutines, which are only in stack traces as text, out of all but
// tests. What reports a crash has its own function, debug.Stack.
func checkStacks(p *pkg, report reporter) {
	for _, f := range p.files {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Stack" {
				return true
			}
			if id, ok := sel.X.(*ast.Ident); ok && importedAs(f, id.Name) == "runtime" {
				report(sel.Pos(), "%s.Stack prints what Go calls its goroutines; pass what the code is to know as a parameter, and find lines with runtime.Callers", id.Name)
			}
			return true
		})
	}
}

// importedAs is the path of the import that a file calls name, "" if there is none.
func importedAs(f file, name string) string {
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if called := path.Base(p); spec.Name == nil && called == name || spec.Name != nil && spec.Name.Name == name {
			return p
		}
	}
	return ""
}

// neutral are the folders whose code is the same for every backend. Those that added
// backends have changed no line there.
var neutral = []string{
	"dsl", "compiler/ir", "compiler/front", "compiler/analysis", "compiler/pass", "cache", "jit", "ops", "tensor", "nn", "quantized", "models",
	"examples", "tests/conformance/kernels", "tests/conformance/language",
}

// overrides are the names by which a custom operation may replace its kernel
// on one backend, the one exception of the rule.
var overrides = []string{"ForwardCPU", "ForwardCUDA", "ForwardROCm", "ForwardMetal"}

// checkNames keeps backend names out of the identifiers and strings of neutral
// folders. Comments are free, and so are tests.
func checkNames(p *pkg, report reporter) {
	if !withinAny(p.rel, neutral) {
		return
	}
	for _, f := range p.files {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false // the arrows' business
			case *ast.Ident:
				if b := backendIn(n.Name); b != "" && !slices.Contains(overrides, n.Name) {
					report(n.Pos(), "identifier %s names the backend %s; this folder runs on every backend, ask the device for a property instead", n.Name, b)
				}
			case *ast.BasicLit:
				if b := backendIn(n.Value); n.Kind == token.STRING && b != "" {
					report(n.Pos(), "string names the backend %s; this folder runs on every backend, ask the device for a property instead", b)
				}
			}
			return true
		})
	}
}

// blind are the folders whose code must not know which device it has: an operation asks
// for numbers, such as how many threads run in step, and never whose device it is.
var blind = []string{"ops", "nn", "quantized", "models"}

// identities are the fields of runtime.Info that say whose device it is.
var identities = []string{"Vendor", "Arch", "Formats", "ComputeMajor"}

// checkIdentity keeps operations from asking a device what it is.
func checkIdentity(p *pkg, report reporter) {
	if !withinAny(p.rel, blind) {
		return
	}
	for _, f := range p.files {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && (slices.Contains(identities, s.Sel.Name) || s.Sel.Name == "Kind" && isInfo(s.X)) {
				report(s.Sel.Pos(), "%s says whose device it is; operations are the same on every one, ask for a number of runtime.Info instead", s.Sel.Name)
			}
			return true
		})
	}
}

// isInfo says whether an expression is a runtime.Info by its looks: a call of Info, or a
// variable of that name.
func isInfo(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.CallExpr:
		s, ok := x.Fun.(*ast.SelectorExpr)
		return ok && s.Sel.Name == "Info"
	case *ast.Ident:
		return x.Name == "info"
	}
	return false
}

// backendIn returns the backend that text names, or "". The long names count
// wherever they stand; the short ones are parts of English words and count as
// words only.
func backendIn(text string) string {
	lower := strings.ToLower(text)
	for _, b := range []string{"cuda", "rocm", "opencl"} {
		if strings.Contains(lower, b) {
			return b
		}
	}
	for _, w := range words(text) {
		if slices.Contains([]string{"metal", "hip", "ptx", "msl"}, w) {
			return w
		}
	}
	return ""
}

// words splits text at everything that is no letter and at the humps of camel
// case, and lowers the case: "emitPTXText" is emit, ptx, text.
func words(text string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = nil
		}
	}
	rs := []rune(text)
	for i, r := range rs {
		if !unicode.IsLetter(r) {
			flush()
			continue
		}
		hump := unicode.IsUpper(r) && i > 0 && unicode.IsLower(rs[i-1])
		tail := unicode.IsUpper(r) && i+1 < len(rs) && unicode.IsLower(rs[i+1]) // the T of PTXText
		if hump || tail {
			flush()
		}
		word = append(word, r)
	}
	flush()
	return out
}

// sources are packages that kernels may use beside dsl and those called kernels: they are source of
// kernels, with host code for the same things.
var sources = []string{"quantized/format"}

// checkKernels holds packages of kernels to what a kernel may use. Launchers that are
// generated next to kernels are host code.
func checkKernels(p *pkg, report reporter) {
	if p.name != "kernels" {
		return
	}
	imports(p, func(f file, spec *ast.ImportSpec, path string) {
		rel, inside := strings.CutPrefix(path, p.module+"/")
		kernels := inside && (within(rel, "dsl") || slices.Contains(strings.Split(rel, "/"), "kernels") || slices.Contains(sources, rel))
		if f.test || kernels || ast.IsGenerated(f.ast) || slices.Contains([]string{"embed", "math", "math/bits"}, path) {
			return
		}
		report(spec.Pos(), "package kernels imports %s; kernels use embed, math, math/bits, dsl and other kernels packages", path)
	})
}

// checkDoc asks for a doc.go with the package comment.
func checkDoc(p *pkg, report reporter) {
	var first *file
	for i, f := range p.files {
		if f.test {
			continue
		}
		if first == nil {
			first = &p.files[i]
		}
		if f.name == "doc.go" {
			if f.ast.Doc == nil {
				report(f.ast.Package, "doc.go has no package comment")
			}
			return
		}
	}
	if first != nil { // a folder of tests only is no package
		report(first.ast.Package, "package %s has no doc.go; say there what it is, its model in ten lines, and an example", p.name)
	}
}
