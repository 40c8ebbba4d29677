package llvm

import (
	"fmt"

	llir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/gokiln/kiln/compiler/ir"
)

// objectAlign is the alignment of shared and local objects, so that they can be
// accessed in the widest units.
const objectAlign = 16

// value writes the instructions of v.
func (e *emitter) value(v *ir.Value) (err error) {
	var out value.Value
	switch v.Op {
	case ir.OpConst:
		out = e.d.constantOf(v.Type, v.Imm)
	case ir.OpWarpSize:
		out = i64(int64(e.d.width))
	case ir.OpLocal:
		out = e.local(v.Type.Elem)
	case ir.OpShared:
		out = e.sharedObject(int(v.Imm))
	case ir.OpTable:
		out = e.table(int(v.Imm))
	case ir.OpIndex, ir.OpOffset:
		out = e.advance(v, elementType(v.Type.Elem), e.operand(v.Args[1]))
	case ir.OpField:
		out = e.advance(v, types.I8, i64(int64(v.Args[0].Type.Elem.Offset(int(v.Imm)))))
	case ir.OpZero:
		e.zero(v.Args[0])
	case ir.OpMMA:
		if e.unit(v) == nil {
			return fmt.Errorf("no matrix instruction of this kind is known of %s (package matrix), and dsl/tile asks first", e.t)
		}
		_, err = e.expand(e.newBuild(v))
	default:
		if v.Op.IsAtomic() && v.Imm != 0 {
			out, err = e.ordered(v)
		} else {
			out, err = e.expand(e.newBuild(v))
		}
	}
	e.vals[v.ID] = out
	return err
}

// expand writes an operation by its row.
func (e *emitter) expand(x *build) (value.Value, error) {
	var b uint64
	var isConst bool
	if len(x.v.Args) > 1 && x.v.Args[1].Op == ir.OpConst {
		b, isConst = x.v.Args[1].Imm, true
	}
	r, err := e.d.choose(x.v, b, isConst)
	if err != nil {
		return nil, err
	}
	return r.form(x), nil
}

// ordered writes an atomic operation that has an order or a scope.
func (e *emitter) ordered(v *ir.Value) (value.Value, error) {
	fence := &ir.Value{Op: ir.OpFence, Type: ir.Void}
	x := e.newBuild(v)
	if v.Scope() == ir.BlockScope {
		fence.Op = ir.OpFenceBlock
		x.scope = e.d.block
	}
	fenced := e.d.isa&nvptx != 0 // whose atomic updates lose their order in LLVM
	if !fenced {
		x.order = [...]enum.AtomicOrdering{enum.AtomicOrderingMonotonic, ir.Acquire: enum.AtomicOrderingAcquire,
			ir.Release: enum.AtomicOrderingRelease, ir.AcquireRelease: enum.AtomicOrderingAcquireRelease}[v.Order()]
		if v.Order()&ir.Acquire != 0 {
			x.seen = enum.AtomicOrderingAcquire
		}
	}
	if fenced && v.Order()&ir.Release != 0 {
		if _, err := e.expand(e.newBuild(fence)); err != nil {
			return nil, err
		}
	}
	out, err := e.expand(x)
	if err == nil && fenced && v.Order()&ir.Acquire != 0 {
		_, err = e.expand(e.newBuild(fence))
	}
	return out, err
}

// local declares a private object. It exists once for a thread, wherever the
// operation stands.
func (e *emitter) local(t *ir.Type) value.Value {
	i := &llir.InstAlloca{ElemType: objectType(t), Align: objectAlign, AddrSpace: e.d.spaces[ir.Local]}
	e.locals = append(e.locals, i)
	return address{i, e.d.pointer(ir.Local)}
}

// variable declares a variable of the module with the kernel's name and suffix, once.
func (e *emitter) variable(suffix string, s ir.Space, g *llir.Global) address {
	name := ir.Symbol(e.f.Name) + suffix
	v, ok := e.variables[name]
	if !ok {
		g.SetName(name)
		g.AddrSpace, g.Align = e.d.spaces[s], objectAlign
		e.out.Globals = append(e.out.Globals, g)
		v = address{g, e.d.pointer(s)}
		e.variables[name] = v
	}
	return v
}

// sharedObject is the address of shared object i: a variable of its own, or a part of all
// the memory that launches ask for.
func (e *emitter) sharedObject(i int) value.Value {
	if e.parts == nil || e.parts[i] < 0 {
		t := e.sharedType(e.m.Shared[i])
		return e.variable(fmt.Sprintf("_shared%d", i), ir.Shared, &llir.Global{Linkage: enum.LinkageInternal, ContentType: t, Init: constant.NewUndef(t)})
	}
	memory := e.variable("_shared", ir.Shared, &llir.Global{Linkage: enum.LinkageExternal, ContentType: array(0, types.I8)})
	return &constant.ExprGetElementPtr{ElemType: types.I8, Src: memory, Indices: []constant.Constant{i32(int64(e.parts[i]))}, Typ: memory.to}
}

// sharedType is the type of a shared object. Code for the host asks for no memory as it is
// launched: an array whose length a launch decides has all that a block can have.
func (e *emitter) sharedType(o *ir.Object) types.Type {
	if !o.Dynamic {
		return objectType(o.Type)
	}
	_, size := e.m.SharedLayout()
	return array(e.t.MaxShared-size, types.I8)
}

func (e *emitter) table(i int) value.Value {
	words, width := e.m.Tables[i].Words()
	t := array(len(words), integer(8*width))
	elems := make([]constant.Constant, len(words))
	for n, w := range words {
		elems[n] = whole(t.ElemType, int64(w))
	}
	return e.variable(fmt.Sprintf("_table%d", i), ir.Constant, &llir.Global{Linkage: enum.LinkageInternal, Immutable: true, ContentType: t, Init: constant.NewArray(t, elems...)})
}

// advance adds n elements to a pointer.
func (e *emitter) advance(v *ir.Value, elem types.Type, n value.Value) value.Value {
	p := e.operand(v.Args[0])
	if c, ok := n.(*constant.Int); ok && c.X.Sign() == 0 {
		return p
	}
	return e.offset(elem, p, n)
}

// zero writes zeros over the object that p points to.
func (e *emitter) zero(p *ir.Value) {
	t, at := p.Type.Elem, e.operand(p)
	switch {
	case t.Size() == 0:
	case t.Kind == ir.KBool:
		e.store(i8(0), at, 1)
	case t.IsPtr(), t.IsValue():
		e.store(e.d.constantOf(t, 0), at, t.Align())
	default:
		e.call(fmt.Sprintf("llvm.memset.p%d.i64", e.d.spaces[p.Type.Space]), types.Void,
			llir.NewArg(at, llir.Align(t.Align())), i8(0), i64(int64(t.Size())), whole(types.I1, 0))
	}
}
