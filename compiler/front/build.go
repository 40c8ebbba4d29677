package front

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/constval"
	"github.com/gokiln/kiln/compiler/front/internal/report"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/ir"
)

// build is the state of one compilation.
type build struct {
	report.Sink
	loader Loader
	units  map[string]*source.Unit
	failed map[string]error   // packages that the loader refused
	quiet  map[token.Pos]bool // where a type error would repeat a diagnostic

	mistyped map[diag.Position]bool // lines with type errors

	seen     map[*source.Decl]bool
	fields   map[string]bool        // selectors seen
	receiver []*source.Decl         // types reached that have methods
	floats8  bool                   // 8-bit floating-point types are named outside of package dsl
	parts    map[*source.Unit]*part // what is reached of each unit
	order    []*source.Unit         // units in the order of their first use
	info     *types.Info
	prog     *ssa.Program
	inst     *instance
	bound    map[string]*binding // functions that parameters stand for, as in Request.Funcs
	synth    []*token.File       // of declarations made for function literals
	untyped  bool                // a literal is checked without the types of the function it stands in
	consts   constval.Values
	tables   map[*types.Var]*ir.Table // contents of the package variables reached
	// tableUses are where reached code names package variables.
	tableUses []tableUse
}

// part is what a compilation takes of a unit.
type part struct {
	u        *source.Unit
	fresh    []*source.Decl // reached, not yet type-checked
	decls    []*source.Decl
	trees    []*ast.File
	imports  map[*source.File]map[string]string // local name -> path
	pkg      *types.Package
	checker  *types.Checker
	info     *types.Info
	checking bool
	ssa      *ssa.Package
}

// instance is the synthetic declaration for one request.
type instance struct {
	kernel  *source.Decl // nil if the declaration is for a function that a kernel is given
	tok     *token.File
	imports []*source.Import // that the request names by their paths
}

// binding is a Func in a compilation.
type binding struct {
	Func
	unit *source.Unit
	pos  token.Pos   // where to report what is wrong with it
	tok  *token.File // of the declarations made for it, nil if there are none

	name   string // for people, as in k.Square or k.Outer.func1
	global string // of the SSA function or, if generic, of the variable that holds it
	lit    bool   // the function is the literal inside of that
	inst   bool   // global is a variable
}

func (b *binding) what() string {
	if b.lit {
		return "function literal"
	}
	return "function " + b.name
}

// tableUse is a use of a table in a kernel.
type tableUse struct {
	pos  token.Pos
	name string
	decl *source.Decl
}

func newBuild(load Loader) *build {
	return &build{
		Sink:     report.NewSink(),
		loader:   load,
		units:    map[string]*source.Unit{},
		failed:   map[string]error{},
		quiet:    map[token.Pos]bool{},
		mistyped: map[diag.Position]bool{},
		seen:     map[*source.Decl]bool{},
		fields:   map[string]bool{},
		parts:    map[*source.Unit]*part{},
	}
}

// unit returns the package with the given import path.
func (b *build) unit(path string) (*source.Unit, error) {
	if u := b.units[path]; u != nil {
		return u, nil
	}
	if err := b.failed[path]; err != nil {
		return nil, err
	}
	u, err := b.loadUnit(path)
	if err != nil {
		b.failed[path] = err
		return nil, err
	}
	b.units[path] = u
	return u, nil
}

func (b *build) loadUnit(path string) (*source.Unit, error) {
	if lib := source.Libraries[path]; lib != nil {
		return lib(), nil
	}
	if b.loader == nil {
		return nil, fmt.Errorf("package %s is not a kernel package", path)
	}
	p, err := b.loader(path)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, fmt.Errorf("package %s is not a kernel package", path)
	}
	u := source.Parse(p)
	if len(u.Errs) > 0 {
		b.Diags = append(b.Diags, u.Errs...)
	}
	return u, nil
}

func (b *build) part(u *source.Unit) *part {
	p := b.parts[u]
	if p == nil {
		p = &part{u: u, imports: map[*source.File]map[string]string{}}
		b.parts[u] = p
		b.order = append(b.order, u)
	}
	return p
}

// takeFresh returns the declarations reached since the last call, in source
// order, so that the result does not depend on the order of discovery.
func (p *part) takeFresh() []*source.Decl {
	out := p.fresh
	p.fresh = nil
	slices.SortStableFunc(out, func(x, y *source.Decl) int {
		if x.File != y.File {
			return x.File.Ord - y.File.Ord
		}
		return x.Ord - y.Ord
	})
	p.decls = append(p.decls, out...)
	return out
}

// recoverInternal turns a panic of this package or of go/ssa into a
// diagnostic at the position that was being compiled.
func (b *build) recoverInternal(what string, err *error) {
	cause := recover()
	if cause == nil {
		return
	}
	at := diag.Position{File: what}
	if b.At != token.NoPos {
		at = b.Position(b.At)
	}
	d := diag.New(at, diag.Internal, fmt.Sprintf("internal compiler error in %s: %v", what, cause), origin(string(debug.Stack())))
	*err = append(b.Diags, d).Err()
}

// origin returns the frames of a stack trace below the panic.
func origin(stack string) string {
	lines := strings.Split(stack, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "panic(") && i+2 < len(lines) {
			lines = lines[i+2:]
			break
		}
	}
	return strings.Join(lines[:min(len(lines), 12)], "\n")
}

// synthetic reports whether pos lies in the synthetic declaration.
func (b *build) synthetic(pos token.Pos) bool {
	if b.inst == nil || b.inst.tok == nil {
		return false
	}
	f := b.inst.tok
	return int(pos) >= f.Base() && int(pos) <= f.Base()+f.Size()
}
