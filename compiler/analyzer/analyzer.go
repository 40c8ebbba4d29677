package analyzer

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/gen"
)

const (
	dslPath = "github.com/gokiln/kiln/dsl"
	jitPath = "github.com/gokiln/kiln/jit"
	docURL  = "https://github.com/gokiln/kiln/blob/main/docs/diagnostics.md"
)

// Analyzer reports mistakes in the kernels of a package.
var Analyzer = &analysis.Analyzer{
	Name: "kiln",
	Doc: `report what a GPU cannot do in functions marked //kiln:kernel

The kernel analyzer compiles every kernel of the package to the compiler's
intermediate form, generic ones for the types of their constraints, and the
function literals that are arguments of jit.Func, and reports each mistake with its
code, and launchers of kiln gen that are stale. The codes are explained in docs/diagnostics.md.`,
	URL:              docURL,
	Run:              run,
	RunDespiteErrors: true, // the front end checks types itself
	FactTypes:        []analysis.Fact{new(sources)},
}

// sources is the fact of a package that registers its source: its text and
// that of the kernel packages it imports, directly or not. The whole closure is
// in one fact because drivers pass on only facts of packages that the types of
// an import mention, and a kernel may call what no type mentions.
type sources struct {
	Packages []front.Package
}

// AFact marks sources as a fact.
func (*sources) AFact() {}

// String names the packages, for the tests of facts.
func (s *sources) String() string {
	paths := make([]string, len(s.Packages))
	for i, p := range s.Packages {
		paths[i] = p.Path
	}
	return "kernel source of " + strings.Join(paths, ", ")
}

func run(pass *analysis.Pass) (any, error) {
	if !imports(pass, dslPath) && !imports(pass, jitPath) {
		return nil, nil // nothing to compile, and no library for kernels
	}
	c := &checker{pass: pass, path: importPath(pass), known: map[string]*front.Package{}, via: map[string]string{}}
	if err := c.read(); err != nil {
		return nil, err
	}
	c.importFacts()
	c.exportFact()
	for _, d := range gen.Check(gen.Package{Package: c.own.compiled(c.path), All: c.own.all()}, c.load) {
		c.report(d)
	}
	if !c.own.hasKernels() {
		return nil, nil
	}
	for _, name := range c.own.left() {
		c.report(c.unregistered(name))
	}
	list, _ := compiler.Check(c.own.compiled(c.path), c.load)
	for _, d := range list {
		if !c.repeats(d) {
			c.report(d)
		}
	}
	return nil, nil
}

// checker is the run of the analyzer on one package.
type checker struct {
	pass  *analysis.Pass
	path  string
	own   ownFiles
	known map[string]*front.Package // kernel packages that may be called
	via   map[string]string         // for each of them an import of this package that leads to it
}

// importPath returns the path of the package without what the go command adds
// to that of a package compiled together with its tests.
func importPath(pass *analysis.Pass) string {
	path, _, _ := strings.Cut(pass.Pkg.Path(), " [")
	return path
}

func imports(pass *analysis.Pass, path string) bool {
	for _, f := range pass.Files {
		for _, s := range f.Imports {
			if p, err := strconv.Unquote(s.Path.Value); err == nil && p == path {
				return true
			}
		}
	}
	return false
}

// read takes the text of the package's files, tests aside.
func (c *checker) read() error {
	for _, f := range c.pass.Files {
		name := c.pass.Fset.File(f.FileStart).Name()
		if strings.HasSuffix(name, "_test.go") || filepath.Ext(name) != ".go" {
			continue
		}
		text, err := c.pass.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading kernel source: %w", err)
		}
		c.own = append(c.own, ownFile{f, front.File{Name: filepath.Base(name), Text: text}})
	}
	return nil
}

func (c *checker) importFacts() {
	for _, p := range c.pass.Pkg.Imports() {
		var s sources
		if !c.pass.ImportPackageFact(p, &s) {
			continue
		}
		for i := range s.Packages {
			path := s.Packages[i].Path
			c.known[path] = &s.Packages[i]
			if c.via[path] == "" || path == p.Path() {
				c.via[path] = p.Path()
			}
		}
	}
}

func (c *checker) exportFact() {
	if !c.own.registered() {
		return
	}
	fact := &sources{Packages: []front.Package{*c.own.compiled(c.path)}}
	for _, p := range c.known {
		fact.Packages = append(fact.Packages, *p)
	}
	slices.SortFunc(fact.Packages, func(a, b front.Package) int { return strings.Compare(a.Path, b.Path) })
	c.pass.ExportPackageFact(fact)
}

// load is the loader for the front end.
func (c *checker) load(path string) (*front.Package, error) {
	if p := c.known[path]; p != nil {
		return p, nil
	}
	return compiler.Registered(path) // says what is missing
}

// repeats reports whether d says what the driver says anyway: that the package
// is not correct Go.
func (c *checker) repeats(d diag.Diagnostic) bool {
	return len(c.pass.TypeErrors) > 0 && (d.Code == diag.TypeError || d.Code == diag.Syntax)
}

// unregistered is the diagnostic for a file whose kernels no program can
// compile.
func (c *checker) unregistered(file string) diag.Diagnostic {
	msg := "kernels cannot be compiled: package " + c.path + " does not register its source"
	if c.own.registered() {
		msg = "kernels cannot be compiled: " + file + " is not among the files that package " + c.path + " embeds"
	}
	return diag.New(diag.Position{File: c.path + "/" + file}, diag.NoSource, msg, "")
}
