package lower

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// alloc makes a variable. Objects are created in the entry block, so that a
// loop does not make new ones, and cleared where Go makes the variable.
func (f *funcLower) alloc(a *ssa.Alloc) val {
	t := gotype.Deref(a.Type())
	if phi := perIteration(a); f.oneCell[phi] {
		return f.env[phi]
	}
	if setOnce(a) {
		return val{cell: &val{bad: true}} // the store fills it in
	}
	if setOnceIndexed(a) {
		mem := f.object(t, a, nil, false)
		return val{cell: &val{bad: true}, mem: &mem}
	}
	if _, ok := t.Underlying().(*types.Struct); ok && gotype.Memory(t) != nil && merges(a) {
		return f.whole(gotype.Memory(t), !setNext(a))
	}
	return f.object(t, a, nil, !setNext(a))
}

// whole makes a variable that is in memory as a whole.
func (f *funcLower) whole(m *ir.Type, clear bool) val {
	p := f.local(m)
	if clear {
		f.emit(ir.OpZero, ir.Void, p)
	}
	return val{v: p}
}

// setNext reports whether the instruction after a sets the whole variable,
// which saves clearing it.
func setNext(a *ssa.Alloc) bool {
	instrs := a.Block().Instrs
	for i, in := range instrs[:len(instrs)-1] {
		if in == a {
			st, ok := instrs[i+1].(*ssa.Store)
			return ok && st.Addr == a
		}
	}
	return false
}

// object makes the variable at path in a, of type t.
func (f *funcLower) object(t types.Type, a *ssa.Alloc, path []int, clear bool) val {
	if s := gotype.Scalar(t); s != nil {
		p := f.local(s)
		if clear {
			f.emit(ir.OpStore, ir.Void, p, f.konst(s, 0))
		}
		return val{v: p}
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		out := val{parts: make([]val, u.NumFields())}
		for i := range out.parts {
			out.parts[i] = f.object(u.Field(i).Type(), a, extend(path, i), clear)
		}
		return out
	case *types.Array:
		return f.arrayObject(u, t, a, path, clear)
	case *types.Slice:
		return f.sliceObject(u, a, path)
	case *types.Pointer:
		// A pointer set once can have any form, a pointer to a struct in parts too.
		if !storedOnce(a, path) {
			return f.pointerObject(u, a, path, clear)
		}
	}
	if storedOnce(a, path) {
		cell := &val{isNil: true}
		f.pending[cell] = true
		return val{cell: cell}
	}
	what := "variable"
	if len(path) > 0 {
		what = "part of a variable"
	}
	f.report(diag.FuncValue, "%s of type %s may hold different functions", what, gotype.Name(t))
	return badVal
}

func extend(path []int, i int) []int { return append(append([]int(nil), path...), i) }

func (f *funcLower) arrayObject(u *types.Array, t types.Type, a *ssa.Alloc, path []int, clear bool) val {
	if m := gotype.Memory(t); m != nil {
		return f.whole(m, clear)
	}
	if !gotype.HasPointers(t) || u.Len() > gotype.MaxLeaves {
		f.report(diag.LargeValue, "variable of type %s is too large", gotype.Name(t))
		return badVal
	}
	out := val{parts: make([]val, u.Len())}
	for i := range out.parts {
		out.parts[i] = f.object(u.Elem(), a, extend(path, i), clear)
	}
	return out
}

func (f *funcLower) sliceObject(u *types.Slice, a *ssa.Alloc, path []int) val {
	elem := gotype.Memory(u.Elem())
	if elem == nil {
		f.report(diag.StoredPointer, "variable of type %s cannot be in memory", gotype.Name(u))
		return badVal
	}
	length := f.local(ir.I64)
	f.emit(ir.OpStore, ir.Void, length, f.int(0))
	return val{parts: []val{{v: f.local(ir.PtrTo(f.spaceAt(a, path), elem))}, {v: length}}}
}

// pointerObject makes a variable for a pointer: the pointer, and whether it is set.
// It has no zero value, for there is no address that is in no memory on all devices.
func (f *funcLower) pointerObject(u *types.Pointer, a *ssa.Alloc, path []int, clear bool) val {
	elem := gotype.Memory(u.Elem())
	if elem == nil {
		f.report(diag.StoredPointer, "variable of type %s cannot be in memory", gotype.Name(u))
		return badVal
	}
	p := f.local(ir.StructOf(ir.PtrTo(f.spaceAt(a, path), elem), ir.Bool))
	if clear {
		f.emit(ir.OpStore, ir.Void, f.field(p, 1), f.konst(ir.Bool, 0))
	}
	return val{v: p}
}

// field returns the address of a field of the struct in memory at p.
func (f *funcLower) field(p *ir.Value, i int) *ir.Value {
	return f.emitImm(ir.OpField, ir.PtrTo(p.Type.Space, p.Type.Elem.Elems[i]), uint64(i), p)
}

// loadPointer reads what pointerObject keeps.
func (f *funcLower) loadPointer(p *ir.Value) val {
	return val{v: f.emit(ir.OpLoad, pointerAt(p), f.field(p, 0)), set: f.emit(ir.OpLoad, ir.Bool, f.field(p, 1))}
}

// nonNil checks a pointer out of a variable before its use. A pointer that is copied
// with the aggregate around it need not be set.
func (f *funcLower) nonNil(v val) val {
	if v.set != nil {
		f.emit(ir.OpNonNil, ir.Void, v.set)
		v.set = nil
	}
	return v
}

// storePointer sets or clears what pointerObject keeps.
func (f *funcLower) storePointer(p *ir.Value, v val) {
	set := v.set
	switch {
	case v.isNil:
		set = f.konst(ir.Bool, 0)
	case set == nil:
		set = f.konst(ir.Bool, 1)
	}
	f.emit(ir.OpStore, ir.Void, f.field(p, 1), set)
	if !v.isNil {
		f.emit(ir.OpStore, ir.Void, f.field(p, 0), v.v)
	}
}

// load reads a value of type t at addr.
func (f *funcLower) load(addr val, t types.Type) val {
	switch {
	case addr.bad:
		return badVal
	case addr.isNil:
		f.report(diag.NilPointer, "nil is dereferenced")
		return badVal
	case addr.cell != nil:
		return *addr.cell
	}
	if gotype.Scalar(t) == nil && gotype.Leaves(t) > gotype.MaxLeaves {
		f.report(diag.LargeValue, "value of type %s is too large to be copied", gotype.Name(t))
		return badVal
	}
	return f.nonNil(f.loadParts(addr, t))
}

func (f *funcLower) loadParts(addr val, t types.Type) val {
	if addr.bad {
		return badVal
	}
	if addr.cell != nil {
		return *addr.cell
	}
	if n, elem := components(t); n >= 0 {
		out := val{parts: make([]val, n)}
		for i := range out.parts {
			out.parts[i] = f.loadParts(f.component(addr, t, i), elem(i))
		}
		return out
	}
	if _, ok := t.Underlying().(*types.Slice); ok && addr.v == nil {
		return val{parts: []val{f.loadParts(addr.part(0), types.Typ[types.Int]), f.loadParts(addr.part(1), types.Typ[types.Int])}}
	}
	if addr.v == nil {
		f.report(diag.Unsupported, "value of type %s cannot be read here", gotype.Name(t))
		return badVal
	}
	if pointerAt(addr.v) != nil {
		return f.loadPointer(addr.v)
	}
	return val{v: f.emit(ir.OpLoad, addr.v.Type.Elem, addr.v)}
}

// components returns the number of fields or elements of an aggregate type and
// their types, -1 for other types.
func components(t types.Type) (int, func(int) types.Type) {
	if gotype.Scalar(t) != nil {
		return -1, nil
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		return u.NumFields(), func(i int) types.Type { return u.Field(i).Type() }
	case *types.Array:
		return int(u.Len()), func(int) types.Type { return u.Elem() }
	}
	return -1, nil
}

// component returns the address of field or element i of the aggregate of type
// t at addr.
func (f *funcLower) component(addr val, t types.Type, i int) val {
	if addr.bad || addr.isNil {
		return badVal
	}
	if addr.cell != nil {
		c := addr.cell.part(i)
		out := val{cell: &c}
		if addr.mem != nil {
			m := f.component(*addr.mem, t, i)
			out.mem = &m
		}
		return out
	}
	if addr.v == nil {
		return addr.part(i)
	}
	m := addr.v.Type.Elem
	if m.Kind == ir.KStruct {
		return val{v: f.emitImm(ir.OpField, ir.PtrTo(addr.v.Type.Space, m.Elems[i]), uint64(i), addr.v)}
	}
	return val{v: f.emit(ir.OpIndex, ir.PtrTo(addr.v.Type.Space, m.Elem), addr.v, f.int(int64(i)))}
}

// store writes v of type t at addr.
func (f *funcLower) store(addr, v val, t types.Type) {
	switch {
	case addr.bad || v.bad:
		return
	case addr.isNil:
		f.report(diag.NilPointer, "nil is dereferenced")
		return
	}
	if n, elem := components(t); n >= 0 {
		for i := range n {
			f.store(f.component(addr, t, i), v.part(i), elem(i))
		}
		return
	}
	if f.pending[addr.cell] {
		f.define(addr.cell, v)
		delete(f.pending, addr.cell)
		return
	}
	_, isSlice := t.Underlying().(*types.Slice)
	switch {
	case addr.v != nil && pointerAt(addr.v) != nil && (v.isNil || v.v != nil && v.v.Type == pointerAt(addr.v)):
		f.storePointer(addr.v, v)
		return
	case v.isNil && isSlice && addr.v == nil: // without elements its address does not matter
		f.store(addr.part(1), val{v: f.int(0)}, types.Typ[types.Int])
		return
	case v.isNil:
		return
	}
	if isSlice && addr.v == nil {
		f.store(addr.part(0), v.part(0), types.Typ[types.Int])
		f.store(addr.part(1), v.part(1), types.Typ[types.Int])
		return
	}
	if addr.v == nil || v.v == nil || addr.v.Type.Elem != v.v.Type {
		f.report(diag.MixedSpaces, "a pointer to %s memory is stored where pointers to %s memory are kept", memoryOf(v), keptAt(addr))
		return
	}
	f.emit(ir.OpStore, ir.Void, addr.v, v.v)
}

// storeInstr lowers a store; the one that sets a variable once defines it.
func (f *funcLower) storeInstr(s *ssa.Store) {
	addr, v := f.val(s.Addr), f.val(s.Val)
	if _, ok := s.Addr.(*ssa.Alloc); ok && addr.cell != nil {
		f.define(addr.cell, v)
		if addr.mem != nil {
			f.store(*addr.mem, v, s.Val.Type())
		}
		return
	}
	if addr.cell != nil && !f.pending[addr.cell] {
		f.report(diag.FuncValue, "%s may hold different functions", gotype.Name(s.Val.Type()))
		return
	}
	if gotype.HasPointers(s.Val.Type()) && f.keeps(s) {
		f.report(diag.Escape, "pointer to a variable is kept longer than the variable lives")
		return
	}
	f.store(addr, v, s.Val.Type())
}

// define sets a variable that is set once. Only a function literal that
// captures the variable can lead back to it: by calling it, it calls itself.
func (f *funcLower) define(cell *val, v val) {
	if v.holds(cell) {
		f.report(diag.Recursion, "the function literal uses the variable that holds it, and so calls itself")
		v = badVal
	}
	*cell = v
}

// keeps reports whether a store puts a pointer to a variable where it outlives
// the variable: in memory of the caller, or in a variable that is not made anew
// whenever the first one is.
func (f *funcLower) keeps(s *ssa.Store) bool {
	targets := targetsOf(s.Addr)
	for _, a := range roots(s.Val) {
		if len(targets) == 0 {
			return true
		}
		for _, d := range targets {
			if remade(a.Block(), d.Block()) {
				return true
			}
		}
	}
	return false
}

// loadIndexed returns the value at addr, which the instruction in reads. Constant memory does not
// change: what is only indexed of an array stays there until then.
func (f *funcLower) loadIndexed(addr val, in ssa.Value) val {
	_, isArray := in.Type().Underlying().(*types.Array)
	if !isArray || addr.v == nil || addr.v.Type.Space != ir.Constant {
		return f.load(addr, in.Type())
	}
	for _, r := range *in.Referrers() {
		switch r := r.(type) {
		case *ssa.DebugRef:
		case *ssa.Index:
			if r.X != in {
				return f.load(addr, in.Type())
			}
		default:
			return f.load(addr, in.Type())
		}
	}
	return val{mem: &addr}
}
