package lower

import (
	"fmt"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// call lowers a call of anything.
func (f *funcLower) call(in *ssa.Call) val {
	c := in.Common()
	if c.IsInvoke() {
		f.report(diag.Interface, "method %s of an interface value is called", c.Method.Name())
		return badVal
	}
	if key := f.logKey(in); key != "" {
		return f.logCall(in, key)
	}
	args := make([]val, len(c.Args))
	bad := false
	for i, a := range c.Args {
		args[i] = f.empty(f.val(a), a.Type())
		if args[i].isNil {
			f.report(diag.NilPointer, "nil %s is passed", gotype.Name(a.Type()))
			bad = true
		}
		bad = bad || args[i].broken()
	}
	if b, ok := c.Value.(*ssa.Builtin); ok {
		if bad {
			return badVal
		}
		return f.builtin(b, in, args)
	}
	fn := f.val(c.Value)
	switch {
	case fn.bad:
		return badVal
	case fn.opaque && !bad:
		return f.stand(in, args)
	case fn.fn == nil && !fn.opaque:
		f.report(diag.FuncValue, "the function that is called is not known at compile time")
		return badVal
	case bad:
		return badVal
	}
	return f.callFunc(in, fn.fn, args, fn.parts)
}

func (f *funcLower) builtin(b *ssa.Builtin, in *ssa.Call, args []val) val {
	switch b.Name() {
	case "len":
		if v := args[0].part(1); v.v != nil {
			return v
		}
	case "min", "max":
		op := ir.OpMin
		if b.Name() == "max" {
			op = ir.OpMax
		}
		t := gotype.Scalar(in.Type())
		if t == nil || gotype.IsStorage(in.Type()) {
			f.report(diag.HalfArith, "%s on %s, which is storage: compute in float32 with dsl.F32 and dsl.To", b.Name(), gotype.Name(in.Type()))
			return badVal
		}
		v := f.one(args[0], t)
		for _, a := range args[1:] {
			v = f.emit(op, t, v, f.one(a, t))
		}
		return val{v: v}
	}
	f.report(diag.Builtin, "%s in a kernel", b.Name())
	return badVal
}

// callFunc calls fn: an intrinsic, the function that a dispatch function stands
// for, or a body.
func (f *funcLower) callFunc(in *ssa.Call, fn *ssa.Function, args, captured []val) val {
	c := f.l.callee(fn)
	if row := intrinsics[c.Key]; c.Intrinsic && row != nil {
		site := &callSite{f: f, in: in, fn: fn, args: args, result: in.Type()}
		if row.accepts == nil || row.accepts(site) {
			return row.lower(site)
		}
	}
	if c.Dispatch {
		if fn = f.dispatch(fn); fn == nil {
			f.report(diag.Import, "%s has no implementation for these types", c.Key)
			return badVal
		}
	}
	if len(fn.Blocks) == 0 {
		f.report(diag.Import, "function %s has no Go body", fn.Name())
		return badVal
	}
	return f.callBody(in, fn, args, captured)
}

// dispatch returns the function behind an instance of a dispatch function.
func (f *funcLower) dispatch(fn *ssa.Function) *ssa.Function {
	if len(fn.TypeArgs()) != 1 {
		return nil
	}
	w := gotype.DispatchSuffix(fn.TypeArgs()[0])
	if w == "" {
		return nil
	}
	return f.l.k.DSL.Func(gotype.DispatchName(fn.Origin().Name(), w))
}

func (f *funcLower) callBody(in *ssa.Call, fn *ssa.Function, args, captured []val) val {
	inst := f.l.instance(fn, args, captured)
	f.l.k.At = f.at
	switch {
	case inst != nil:
	case f.l.full:
		return badVal
	case len(f.l.instances) >= maxSpecialised:
		return f.tooLarge("pass values rather than functions, or fewer of them", "the kernel makes more than %d copies of functions, here of %s, for the functions and the kinds of memory that they are called with", maxSpecialised, fn.Name())
	default:
		f.report(diag.Recursion, "%s calls itself", fn.Name())
		return badVal
	}
	var flat []*ir.Value
	for _, a := range slices.Concat(args, captured) {
		flat = a.flatten(flat)
	}
	t := ir.Void
	switch res := inst.out.Results; len(res) {
	case 0:
	case 1:
		t = res[0]
	default:
		t = ir.TupleOf(res...)
	}
	v := f.emit(ir.OpCall, t, flat...)
	v.Callee = inst.out
	if inst.result == nil {
		return f.zero(in.Type()) // never returns
	}
	n := uint64(0)
	return inst.result.rebuild(func(t *ir.Type) *ir.Value {
		if len(inst.out.Results) == 1 {
			return v
		}
		n++
		return f.emitImm(ir.OpProj, t, n-1, v)
	})
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
