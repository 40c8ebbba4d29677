package lower

import (
	"fmt"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// funcParam returns the value of a kernel parameter of a function type.
func (f *funcLower) funcParam(p *ssa.Parameter, name, number string) val {
	k := f.l.k
	n := k.Funcs[number]
	if n == nil {
		n = k.Funcs[name]
	}
	if n == nil {
		if !k.Consts.Filled() {
			f.report(diag.ConstValue, "parameter %s of kernel %s, a function, has no value", name, k.Name)
			return badVal
		}
		return val{opaque: true}
	}
	k.Consts.AddFunc(name, n.Name)
	fn := n.Func
	if fn == nil {
		return badVal
	}
	if want := p.Type().Underlying(); !types.Identical(want, fn.Signature) {
		k.Report(n.Pos, diag.ConstValue, "", "%s has type %s, parameter %s of kernel %s is %s", n.What, gotype.Name(fn.Signature), name, k.Name, gotype.Name(want))
		return badVal
	}
	return val{fn: fn}
}

// unknownFuncs reports functions for parameters that the kernel has not.
func (f *funcLower) unknownFuncs() {
	k := f.l.k
	for _, key := range slices.Sorted(maps.Keys(k.Funcs)) {
		found := false
		for i, p := range f.fn.Params {
			_, isFunc := p.Type().Underlying().(*types.Signature)
			found = found || isFunc && (p.Name() == key || fmt.Sprint(i) == key)
		}
		if !found {
			k.Report(k.Decl.Pos(), diag.ConstValue, "", "kernel %s has no parameter %s of a function type", k.Name, key)
		}
	}
}

// stand makes the result of a call of a function that is not known, in a kernel
// that is checked for all functions: something of the right type that depends on
// all arguments.
func (f *funcLower) stand(in *ssa.Call, args []val) val {
	if gotype.HasPointers(in.Type()) {
		return badVal
	}
	sum := f.konst(ir.F32, 0)
	for _, a := range args {
		for _, v := range a.flatten(nil) {
			if x := f.number(v); x != nil {
				sum = f.emit(ir.OpAdd, ir.F32, sum, x)
			}
		}
	}
	return typed(in.Type(), func(t *ir.Type) *ir.Value {
		switch t {
		case ir.F32:
			return sum
		case ir.Bool:
			return f.emit(ir.OpGt, ir.Bool, sum, f.konst(ir.F32, 0))
		}
		return f.emit(ir.OpConvert, t, sum)
	})
}

// number returns a scalar as a float32, nil if it is a pointer.
func (f *funcLower) number(v *ir.Value) *ir.Value {
	switch {
	case v.Type == ir.F32:
		return v
	case v.Type == ir.Bool:
		return f.emit(ir.OpSelect, ir.F32, v, f.konst(ir.F32, uint64(0x3F800000)), f.konst(ir.F32, 0))
	case v.Type.IsPtr():
		return nil
	}
	return f.emit(ir.OpConvert, ir.F32, v)
}
