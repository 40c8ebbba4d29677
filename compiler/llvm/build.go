package llvm

import (
	llir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/gokiln/kiln/compiler/ir"
)

// A form writes the instructions of an operation and returns its result, nil if it has
// none.
type form func(x *build) value.Value

// build is an operation that a form writes. The methods of the library's block, which it
// has through the emitter, append instructions; those of this file are for what the
// library checks by its own pointer types, or has no method for.
type build struct {
	*emitter
	v       *ir.Value
	k       ir.Kind     // that selects the row
	t       types.Type  // of that kind
	a, b, c value.Value // operands
	args    []value.Value

	// Of atomic operations: the threads that take part, and the order, also where the
	// exchange of a compare-and-swap fails.
	scope       string
	order, seen enum.AtomicOrdering
}

func (e *emitter) newBuild(v *ir.Value) *build {
	by := selecting(v)
	x := &build{emitter: e, v: v, k: by.Kind, t: e.d.typeOf(by), scope: e.d.device,
		order: enum.AtomicOrderingMonotonic, seen: enum.AtomicOrderingMonotonic, args: make([]value.Value, len(v.Args))}
	for i, arg := range v.Args {
		x.args[i] = e.operand(arg)
	}
	for i, p := range []*value.Value{&x.a, &x.b, &x.c} {
		if i < len(x.args) {
			*p = x.args[i]
		}
	}
	return x
}

// append appends an instruction of the library.
func (e *emitter) append(i llir.Instruction) { e.Insts = append(e.Insts, i) }

// newLabel returns a block that is not in the function yet.
func (e *emitter) newLabel() *llir.Block { return llir.NewBlock(e.fresh()) }

// place puts a block into the function; instructions go to it from now on.
func (e *emitter) place(b *llir.Block) {
	e.fn.Blocks = append(e.fn.Blocks, b)
	e.Block = b
}

// icmp compares integers or pointers.
func (e *emitter) icmp(p enum.IPred, x, y value.Value) value.Value {
	i := &llir.InstICmp{Pred: p, X: x, Y: y, Typ: types.I1}
	e.append(i)
	return i
}

// offset returns the pointer n elements behind p. Addresses wrap, as the IR's do, and
// may leave their object: there is no inbounds.
func (e *emitter) offset(elem types.Type, p, n value.Value) value.Value {
	i := &llir.InstGetElementPtr{ElemType: elem, Src: p, Indices: []value.Value{n}, Typ: p.Type()}
	e.append(i)
	return i
}

func (e *emitter) load(t types.Type, p value.Value, align int) *llir.InstLoad {
	i := e.NewLoad(t, p)
	i.Align = llir.Align(align)
	return i
}

func (e *emitter) store(x, p value.Value, align int) *llir.InstStore {
	i := &llir.InstStore{Src: x, Dst: p, Align: llir.Align(align)}
	e.append(i)
	return i
}

func (e *emitter) freeze(x value.Value) value.Value {
	i := llir.NewInstFreeze(x)
	e.append(i)
	return i
}

func (e *emitter) phi(t types.Type) *llir.InstPhi {
	i := &llir.InstPhi{Typ: t}
	e.append(i)
	return i
}

func (e *emitter) fence(scope string, order enum.AtomicOrdering) {
	e.NewFence(order).SyncScope = scope
}

// call calls a function, which it declares: an intrinsic of LLVM.
func (e *emitter) call(name string, result types.Type, args ...value.Value) *llir.InstCall {
	f := e.declared[name]
	if f == nil {
		params := make([]*llir.Param, len(args))
		for i, a := range args {
			params[i] = llir.NewParam("", a.Type())
		}
		f = llir.NewFunc(name, result, params...)
		e.declared[name] = f
	}
	return e.NewCall(f, args...)
}

// assembly is code of the machine itself.
type assembly struct {
	result            types.Type
	text, constraints string
}

func (e *emitter) assemble(a assembly, args ...value.Value) value.Value {
	params := make([]types.Type, len(args))
	for i, arg := range args {
		params[i] = arg.Type()
	}
	return e.NewCall(llir.NewInlineAsm(types.NewPointer(types.NewFunc(a.result, params...)), a.text, a.constraints), args...)
}

// number is a constant of the operation's type, of integers and bools.
func (x *build) number(n int64) value.Value { return whole(x.t, n) }

// extend makes an integer of kind k wider.
func (e *emitter) extend(k ir.Kind, x value.Value, to types.Type) value.Value {
	if signed.Has(k) {
		return e.NewSExt(x, to)
	}
	return e.NewZExt(x, to)
}

// Forms of one instruction.

func operator[I value.Value](f func(b *llir.Block, x, y value.Value) I) form {
	return func(x *build) value.Value { return f(x.Block, x.a, x.b) }
}

func icmp(p enum.IPred) form {
	return func(x *build) value.Value { return x.icmp(p, x.a, x.b) }
}

func fcmp(p enum.FPred) form {
	return func(x *build) value.Value { return x.NewFCmp(p, x.a, x.b) }
}

// intrinsic calls what is named after the operation's type, too.
func intrinsic(name string) form {
	return func(x *build) value.Value { return x.call(name+"."+overload(x.t), x.t, x.args...) }
}

// named calls an intrinsic that is there for one type.
func named(name string) form {
	return func(x *build) value.Value { return x.call(name, x.t, x.args...) }
}
