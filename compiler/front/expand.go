package front

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
)

// expander finds the instances of generic functions that a kernel leads to, of which go/ssa
// builds all there are, however many.
type expander struct {
	b    *build
	ctx  *types.Context
	uses map[*types.Func][]genericUse // in generic functions
	seen map[string]bool
	work []instantiation
	size map[types.Type]int
	full bool
}

// genericUse is a use of a generic function, with type arguments that may refer to
// the parameters of the function around it.
type genericUse struct {
	pos  token.Pos
	fn   *types.Func
	args []types.Type
}

// instantiation is a generic function for types.
type instantiation struct {
	fn   *types.Func
	args []types.Type
}

// expand reports a kernel that leads to too many instances, or to such of too large types.
func (b *build) expand() {
	x := &expander{b: b, ctx: types.NewContext(), uses: map[*types.Func][]genericUse{}, seen: map[string]bool{}, size: map[types.Type]int{}}
	for _, u := range b.order {
		for _, d := range b.part(u).decls {
			x.declaration(d.Node)
		}
	}
	for len(x.work) > 0 && !x.full {
		in := x.work[len(x.work)-1]
		x.work = x.work[:len(x.work)-1]
		params := paramsOf(in.fn)
		for _, use := range x.uses[in.fn] {
			args := make([]types.Type, len(use.args))
			for i, a := range use.args {
				args[i] = x.subst(a, params, in.args)
			}
			x.add(use, args)
		}
	}
}

// declaration collects the uses in a declaration: those outside of generic functions are
// instances.
func (x *expander) declaration(n ast.Node) {
	var in *types.Func
	if f, ok := n.(*ast.FuncDecl); ok {
		in, _ = x.b.info.Defs[f.Name].(*types.Func)
	}
	generic := in != nil && len(paramsOf(in)) > 0
	ast.Inspect(n, func(n ast.Node) bool {
		use, ok := x.use(n)
		switch {
		case !ok:
		case generic:
			x.uses[in] = append(x.uses[in], use)
		default:
			x.add(use, use.args)
		}
		return true
	})
}

// use returns the generic function that a node names.
func (x *expander) use(n ast.Node) (genericUse, bool) {
	switch n := n.(type) {
	case *ast.Ident:
		in, ok := x.b.info.Instances[n]
		fn, isFunc := x.b.info.Uses[n].(*types.Func)
		if ok && isFunc {
			return genericUse{n.Pos(), fn.Origin(), listOf(in.TypeArgs)}, true
		}
	case *ast.SelectorExpr:
		sel := x.b.info.Selections[n]
		if sel == nil || sel.Kind() == types.FieldVal {
			break
		}
		if fn, ok := sel.Obj().(*types.Func); ok {
			if recv := receiverOf(fn); recv != nil && recv.TypeArgs() != nil {
				return genericUse{n.Sel.Pos(), fn.Origin(), listOf(recv.TypeArgs())}, true
			}
		}
	}
	return genericUse{}, false
}

func receiverOf(fn *types.Func) *types.Named {
	recv := fn.Signature().Recv()
	if recv == nil {
		return nil
	}
	n, _ := types.Unalias(gotype.Deref(recv.Type())).(*types.Named)
	return n
}

func listOf(l *types.TypeList) (list []types.Type) {
	for t := range l.Types() {
		list = append(list, t)
	}
	return list
}

// paramsOf returns the type parameters of a function, or of the type that it is a method of.
func paramsOf(fn *types.Func) (list []*types.TypeParam) {
	sig := fn.Signature()
	params := sig.TypeParams()
	if sig.Recv() != nil {
		params = sig.RecvTypeParams()
	}
	for p := range params.TypeParams() {
		list = append(list, p)
	}
	return list
}

// add adds an instance.
func (x *expander) add(use genericUse, args []types.Type) {
	if x.full {
		return
	}
	var key strings.Builder
	key.WriteString(use.fn.FullName())
	for _, a := range args {
		if x.sizeOf(a) > maxTypeArg {
			x.tooLarge(use, "a type argument of %s is made of more than %d types", use.fn.Name(), maxTypeArg)
			return
		}
		key.WriteByte(';')
		key.WriteString(types.TypeString(a, nil))
	}
	if x.seen[key.String()] {
		return
	}
	if x.seen[key.String()] = true; len(x.seen) > maxExpanded {
		x.tooLarge(use, "the kernel leads to more than %d instances of generic functions, here of %s", maxExpanded, use.fn.Name())
		return
	}
	x.work = append(x.work, instantiation{use.fn, args})
}

func (x *expander) tooLarge(use genericUse, format string, args ...any) {
	x.full = true
	x.b.ReportFix(use.pos, diag.TooLarge, "let generic functions call each other with the types that they got", format, args...)
}

// subst replaces type parameters by types.
func (x *expander) subst(t types.Type, params []*types.TypeParam, args []types.Type) types.Type {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		for i, p := range params {
			if p == t && i < len(args) {
				return args[i]
			}
		}
	case *types.Named:
		if t.TypeArgs() == nil {
			return t
		}
		list := listOf(t.TypeArgs())
		for i, a := range list {
			list[i] = x.subst(a, params, args)
			if x.sizeOf(list[i]) > maxTypeArg {
				return list[i] // who asks for its size refuses it
			}
		}
		if in, err := types.Instantiate(x.ctx, t.Origin(), list, false); err == nil {
			return in
		}
	case *types.Pointer:
		return types.NewPointer(x.subst(t.Elem(), params, args))
	case *types.Slice:
		return types.NewSlice(x.subst(t.Elem(), params, args))
	case *types.Array:
		return types.NewArray(x.subst(t.Elem(), params, args), t.Len())
	}
	return t
}

// sizeOf counts the types that a type is made of, up to more than maxTypeArg.
func (x *expander) sizeOf(t types.Type) int {
	t = types.Unalias(t)
	if n, ok := x.size[t]; ok {
		return n
	}
	n := 1
	switch t := t.(type) {
	case *types.Named:
		for a := range t.TypeArgs().Types() {
			n = min(n+x.sizeOf(a), maxTypeArg+1)
		}
	case *types.Pointer:
		n += x.sizeOf(t.Elem())
	case *types.Slice:
		n += x.sizeOf(t.Elem())
	case *types.Array:
		n += x.sizeOf(t.Elem())
	}
	x.size[t] = n
	return n
}
