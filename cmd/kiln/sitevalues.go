package main

import (
	"go/ast"
	"go/constant"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gokiln/kiln/compiler/front"
)

// values takes what is fixed when a kernel is compiled out of a call of its launcher. It
// reports whether all of it is known; a kernel without any has one instance.
func (f *siteFinder) values(at scope, sig *types.Signature, verb string, call *ast.CallExpr, req *front.Request) bool {
	args := []ast.Expr{}
	if verb != "" && call != nil && !call.Ellipsis.IsValid() {
		args = call.Args
	}
	next := 1 // after the device
	if verb == "launch" {
		next = 2 // after the stream and the grid
	}
	fixed := false
	for i := 1; i < sig.Params().Len(); i++ {
		t := sig.Params().At(i).Type()
		if !front.Fixed(t) {
			if verb == "launch" {
				next++
			}
			continue
		}
		fixed = true
		if next >= len(args) || !f.value(at, t, args[next], strconv.Itoa(i), req) {
			return false
		}
		next++
	}
	return fixed || req.Sig != "" // others need no site
}

// value takes the compile-time values of one argument.
func (f *siteFinder) value(at scope, t types.Type, x ast.Expr, name string, req *front.Request) bool {
	if sig, ok := t.Underlying().(*types.Signature); ok {
		return f.funcValue(at, sig, x, name, req)
	}
	if !front.Fixed(t) {
		return true
	}
	if isConst(t) {
		n, ok := int64(0), true
		if x != nil {
			n, ok = constantOf(at.p.TypesInfo.Types[x].Value)
		}
		if req.Consts == nil {
			req.Consts = map[string]int64{}
		}
		req.Consts[name] = n
		return ok
	}
	lit, ok := (*ast.CompositeLit)(nil), x == nil
	if x != nil {
		lit, ok = ast.Unparen(x).(*ast.CompositeLit)
	}
	if !ok {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		return f.fields(at, u, lit, name, req)
	case *types.Array:
		return f.elements(at, u, lit, name, req)
	}
	return false
}

// fields takes the values of a literal of a struct; nil is its zero value.
func (f *siteFinder) fields(at scope, t *types.Struct, lit *ast.CompositeLit, name string, req *front.Request) bool {
	for i := range t.NumFields() {
		v := t.Field(i)
		if v.Name() == "_" {
			continue
		}
		var x ast.Expr
		for j := 0; lit != nil && j < len(lit.Elts); j++ {
			if kv, ok := lit.Elts[j].(*ast.KeyValueExpr); !ok && j == i {
				x = lit.Elts[j]
			} else if ok {
				if id, ok := kv.Key.(*ast.Ident); ok && id.Name == v.Name() {
					x = kv.Value
				}
			}
		}
		if !f.value(at, v.Type(), x, name+"."+v.Name(), req) {
			return false
		}
	}
	return true
}

// elements takes the values of a literal of an array without keys.
func (f *siteFinder) elements(at scope, t *types.Array, lit *ast.CompositeLit, name string, req *front.Request) bool {
	for i := range int(t.Len()) {
		var x ast.Expr
		if lit != nil && i < len(lit.Elts) {
			if x = lit.Elts[i]; isKeyed(x) {
				return false
			}
		}
		if !f.value(at, t.Elem(), x, name+"["+strconv.Itoa(i)+"]", req) {
			return false
		}
	}
	return true
}

func isKeyed(x ast.Expr) bool {
	_, ok := x.(*ast.KeyValueExpr)
	return ok
}

// isConst reports whether a type is dsl.ConstInt or dsl.ConstBool.
func isConst(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == dslPath && (n.Obj().Name() == "ConstInt" || n.Obj().Name() == "ConstBool")
}

func constantOf(v constant.Value) (int64, bool) {
	switch {
	case v == nil:
		return 0, false
	case v.Kind() == constant.Bool:
		if constant.BoolVal(v) {
			return 1, true
		}
		return 0, true
	}
	return constant.Int64Val(constant.ToInt(v))
}

// funcValue takes a function that is named, or a literal outside of generic code.
func (f *siteFinder) funcValue(at scope, sig *types.Signature, x ast.Expr, name string, req *front.Request) bool {
	if x == nil {
		return false
	}
	var fn front.Func
	x = ast.Unparen(x)
	if lit, ok := x.(*ast.FuncLit); ok && len(at.types) == 0 {
		pos := at.p.Fset.Position(lit.Type.Func)
		file := filepath.Base(pos.Filename)
		p, err := f.read(at.p.PkgPath)
		if err != nil || !p.registered || !slices.ContainsFunc(p.Files, func(f front.File) bool { return f.Name == file }) {
			return false
		}
		fn = front.Func{Pkg: f.launchedAs(at.p.PkgPath), File: file, Line: pos.Line, Col: pos.Column}
	} else {
		id := calledName(&ast.CallExpr{Fun: x})
		if id == nil {
			return false
		}
		obj, ok := at.p.TypesInfo.Uses[id].(*types.Func)
		if !ok || obj.Pkg() == nil || obj.Signature().Recv() != nil || f.all[obj.Pkg().Path()] == nil {
			return false
		}
		path := obj.Pkg().Path()
		if p, err := f.read(path); err != nil || !p.registered {
			return false
		}
		fn = front.Func{Pkg: f.launchedAs(path), Name: obj.Name()}
		if obj.Origin().Signature().TypeParams().Len() > 0 {
			fn.Sig = front.SignatureText(sig.Underlying().(*types.Signature), path)
		}
	}
	if req.Funcs == nil {
		req.Funcs = map[string]front.Func{}
	}
	req.Funcs[name] = fn
	return true
}
