package lower

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
)

// lowerer turns the SSA form of a kernel into an IR module.
type lowerer struct {
	k         *Kernel
	m         *ir.Module
	instances map[string]*funcInstance
	depth     map[*ssa.Function]int
	names     map[string]int
	rows      map[*ssa.Function]*callee
	pos       map[token.Pos]int
	shared    map[sharedKey]int
	tables    map[*ir.Table]int // -> number in the module
	lines     map[sharedLine]token.Pos
	widths    map[types.Type]int // see wide
	full      bool               // the kernel is too large
}

// funcInstance is a function specialised for the shapes of its arguments.
type funcInstance struct {
	out    *ir.Func
	result *val // shape of the result, nil if the function never returns
	busy   bool
}

// Module makes the module of a kernel. Mistakes go to the kernel's sink.
func Module(k *Kernel) *ir.Module {
	l := newLowerer(k, k.Package+"."+k.Name+typeArgs(k.Func))
	l.kernel(k.Func)
	return l.m
}

func newLowerer(k *Kernel, name string) *lowerer {
	return &lowerer{
		k:         k,
		m:         &ir.Module{Name: name},
		instances: map[string]*funcInstance{},
		depth:     map[*ssa.Function]int{},
		names:     map[string]int{},
		rows:      map[*ssa.Function]*callee{},
		pos:       map[token.Pos]int{},
		shared:    map[sharedKey]int{},
		tables:    map[*ir.Table]int{},
		lines:     map[sharedLine]token.Pos{},
		widths:    map[types.Type]int{},
	}
}

// typeArgs writes the type arguments of an instance as Go does.
func typeArgs(fn *ssa.Function) string {
	if len(fn.TypeArgs()) == 0 {
		return ""
	}
	names := make([]string, len(fn.TypeArgs()))
	for i, t := range fn.TypeArgs() {
		names[i] = gotype.Name(t)
	}
	return "[" + strings.Join(names, ",") + "]"
}

func (l *lowerer) kernel(fn *ssa.Function) {
	f := l.newFunc(fn, l.k.Name)
	f.out.Kernel = true
	var at []token.Pos // of the type of each parameter
	for _, p := range l.k.Decl.Type.Params.List {
		for range max(len(p.Names), 1) {
			at = append(at, p.Type.Pos())
		}
	}
	f.prologue = func() { f.params(at) }
	l.depth[fn]++
	f.body()
	l.depth[fn]--
}

// newFunc adds an IR function under a name not yet used.
func (l *lowerer) newFunc(fn *ssa.Function, name string) *funcLower {
	n := l.names[name]
	l.names[name]++
	if n > 0 {
		name = fmt.Sprintf("%s.%d", name, n)
	}
	return &funcLower{l: l, fn: fn, out: l.m.NewFunc(name), env: make(map[ssa.Value]val, numValues(fn)), oneCell: map[*ssa.Phi]bool{}, pending: map[*val]bool{}}
}

// numValues returns about how many values fn has.
func numValues(fn *ssa.Function) int {
	n := len(fn.Params) + len(fn.FreeVars)
	for _, b := range fn.Blocks {
		n += len(b.Instrs) - 1
	}
	return n
}

// funcName is the name of a helper function in IR: package, receiver, name.
func funcName(fn *ssa.Function) string {
	name := fn.Name()
	if o := fn.Origin(); o != nil {
		name = o.Name()
	}
	if recv := fn.Signature.Recv(); recv != nil {
		if n, ok := types.Unalias(gotype.Deref(recv.Type())).(*types.Named); ok {
			name = n.Obj().Name() + "." + name
		}
	}
	if p := pkgOf(fn); p != nil {
		name = p.Name() + "." + name
	}
	return irNames.Replace(name)
}

// irNames makes names that the text form of the IR can hold.
var irNames = strings.NewReplacer(" ", "", "(", "", ")", "", ",", ".", ":", ".", "!", ".", "*", "")

func pkgOf(fn *ssa.Function) *types.Package {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	if fn.Pkg != nil {
		return fn.Pkg.Pkg
	}
	if fn.Object() != nil {
		return fn.Object().Pkg()
	}
	if fn.Parent() != nil {
		return pkgOf(fn.Parent())
	}
	return nil
}

// maxNesting bounds how often a function may be in the middle of being
// specialised: function literals could otherwise nest without end.
const maxNesting = 16

// instance returns the function fn specialised for arguments of these shapes,
// nil if fn is already being specialised for them, which is recursion.
func (l *lowerer) instance(fn *ssa.Function, args, captured []val) *funcInstance {
	key := fmt.Sprintf("%p %s | %s", fn, shapeOf(args...), shapeOf(captured...))
	in := l.instances[key]
	if in != nil {
		if in.busy {
			return nil
		}
		return in
	}
	if l.depth[fn] >= maxNesting || l.full || len(l.instances) >= maxSpecialised {
		return nil
	}
	f := l.newFunc(fn, funcName(fn))
	in = &funcInstance{out: f.out, busy: true}
	l.instances[key] = in
	for i, p := range fn.Params {
		f.env[p] = args[i].rebuild(f.out.NewParam)
	}
	for i, p := range fn.FreeVars {
		f.env[p] = captured[i].rebuild(f.out.NewParam)
	}
	l.depth[fn]++
	f.body()
	l.depth[fn]--
	in.result, in.busy = f.result, false
	return in
}

// position returns the index of pos in the module's table. Code of packages dsl
// and fast has no positions of its own: it gets those of the kernel's calls when it is
// inlined, which is where a mistake can be mended.
func (l *lowerer) position(pos token.Pos) int {
	if !pos.IsValid() {
		return 0
	}
	if i, ok := l.pos[pos]; ok {
		return i
	}
	p, i := l.k.Fset.Position(pos), 0
	if !strings.HasPrefix(p.Filename, input.DSL+"/") {
		i = l.m.AddPos(ir.Pos{File: p.Filename, Line: p.Line, Col: p.Column})
	}
	l.pos[pos] = i
	return i
}

// Func lowers a function by itself. Which memory pointers point to is not
// known without a kernel, so that a function with pointers is not lowered.
func Func(k *Kernel) {
	low, fn := newLowerer(k, k.Name), k.Func
	shapes := low.m.NewFunc("arguments")
	args := make([]val, len(fn.Params))
	for i, p := range fn.Params {
		if gotype.IsThread(p.Type()) {
			continue
		}
		switch u := p.Type().Underlying().(type) {
		case *types.Slice:
			elem := gotype.Memory(u.Elem())
			if elem == nil {
				return
			}
			args[i].parts = []val{{v: shapes.NewParam(ir.PtrTo(ir.Global, elem))}, {v: shapes.NewParam(ir.I64)}}
		default:
			if gotype.HasPointers(p.Type()) || gotype.Leaves(p.Type()) > gotype.MaxLeaves {
				return
			}
			args[i] = typed(p.Type(), shapes.NewParam)
		}
	}
	low.instance(fn, args, nil)
}
