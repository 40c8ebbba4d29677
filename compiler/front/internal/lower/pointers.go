package lower

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
)

// This file answers questions about pointers from the SSA form alone: which
// variables are set once, where a pointer comes from, what memory it points to.

// setOnce reports whether variable a gets its value right where it is made and
// never again, and is only read, here and in function literals. Such a variable
// needs no memory, even if it is captured or its fields are selected.
func setOnce(a *ssa.Alloc) bool { return onlySet(a, false) }

// setOnceIndexed is setOnce for a variable without pointers whose arrays are
// indexed by variables too. These indices need it in memory; what is read by
// name or by constant index is still the value it was set to.
func setOnceIndexed(a *ssa.Alloc) bool {
	t := gotype.Deref(a.Type())
	return !gotype.HasPointers(t) && gotype.Memory(t) != nil && gotype.Leaves(t) <= gotype.MaxLeaves && onlySet(a, true)
}

func onlySet(a *ssa.Alloc, indexed bool) bool {
	var set *ssa.Store
	for _, r := range *a.Referrers() {
		if s, ok := r.(*ssa.Store); ok && s.Addr == a {
			if set != nil || s.Val == a {
				return false
			}
			set = s
		}
	}
	if set == nil || set.Block() != a.Block() || !firstUse(a, set) {
		return false
	}
	r := reader{set: set, indexed: indexed, seen: map[ssa.Value]bool{}}
	return r.readOnly(a)
}

// firstUse reports whether set is the first instruction of its block after a
// that refers to a.
func firstUse(a *ssa.Alloc, set *ssa.Store) bool {
	uses := map[ssa.Instruction]bool{}
	for _, r := range *a.Referrers() {
		uses[r] = true
	}
	after := false
	for _, in := range a.Block().Instrs {
		if in == ssa.Instruction(a) {
			after = true
		} else if after && uses[in] {
			return in == ssa.Instruction(set)
		}
	}
	return false
}

// reader looks for uses of a variable other than reading it.
type reader struct {
	set     *ssa.Store // the one that makes it
	indexed bool       // by variables too
	seen    map[ssa.Value]bool
}

// readOnly reports whether the memory at addr is only read, but for the store
// that sets it.
func (o *reader) readOnly(addr ssa.Value) bool {
	if o.seen[addr] {
		return true
	}
	o.seen[addr] = true
	for _, r := range *addr.Referrers() {
		ok := false
		switch r := r.(type) {
		case *ssa.Store:
			ok = r == o.set
		case *ssa.UnOp:
			ok = r.Op == token.MUL
		case *ssa.DebugRef:
			ok = true
		case *ssa.FieldAddr:
			ok = o.readOnly(r)
		case *ssa.IndexAddr:
			_, fixed := r.Index.(*ssa.Const)
			ok = (fixed || o.indexed) && r.X == addr && o.readOnly(r)
		case *ssa.MakeClosure:
			ok = o.captured(r, addr)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (o *reader) captured(m *ssa.MakeClosure, addr ssa.Value) bool {
	fn := m.Fn.(*ssa.Function)
	for i, b := range m.Bindings {
		if b == addr && !o.readOnly(fn.FreeVars[i]) {
			return false
		}
	}
	return true
}

// roots returns the variables of the function that a pointer, slice or function
// value may point into, or hold pointers to.
func roots(x ssa.Value) []maker {
	r := rooter{seen: map[ssa.Value]bool{}}
	r.walk(x)
	return r.out
}

type rooter struct {
	seen map[ssa.Value]bool
	out  []maker
}

// maker is what makes a variable: its declaration, or a call of
// dsl.LocalSlice.
type maker interface {
	ssa.Value
	ssa.Instruction
}

// makesVariable reports whether x is a call of dsl.LocalSlice.
func makesVariable(x *ssa.Call) bool {
	fn := x.Call.StaticCallee()
	if fn == nil || fn.Origin() == nil {
		return false
	}
	p := pkgOf(fn)
	return fn.Origin().Name() == "LocalSlice" && p != nil && p.Path() == input.DSL
}

func (r *rooter) walk(x ssa.Value) {
	if r.seen[x] || !gotype.HasPointers(x.Type()) {
		return
	}
	r.seen[x] = true
	switch x := x.(type) {
	case *ssa.Alloc:
		if setOnce(x) { // held by value
			eachStore(x, nil, map[ssa.Value]bool{}, func(s *ssa.Store, _ []int) { r.walk(s.Val) })
			return
		}
		r.out = append(r.out, x)
	case *ssa.FieldAddr:
		r.walk(x.X)
	case *ssa.IndexAddr:
		r.walk(x.X)
	case *ssa.Slice:
		r.walk(x.X)
	case *ssa.Field:
		r.walk(x.X)
	case *ssa.Index:
		r.walk(x.X)
	case *ssa.Extract:
		r.walk(x.Tuple)
	case *ssa.ChangeType:
		r.walk(x.X)
	case *ssa.SliceToArrayPointer:
		r.walk(x.X)
	case *ssa.Phi:
		for _, e := range x.Edges {
			r.walk(e)
		}
	case *ssa.MakeClosure:
		for _, b := range x.Bindings {
			r.walk(b)
		}
	case *ssa.Call:
		if makesVariable(x) {
			r.out = append(r.out, x)
		}
		for _, a := range x.Call.Args {
			r.walk(a)
		}
	case *ssa.UnOp:
		if x.Op == token.MUL {
			r.stored(x.X)
		}
	}
}

// stored follows what was stored in the variable behind addr.
func (r *rooter) stored(addr ssa.Value) {
	inner := rooter{seen: map[ssa.Value]bool{}}
	inner.walk(addr)
	for _, a := range inner.out {
		eachStore(a, nil, map[ssa.Value]bool{}, func(s *ssa.Store, _ []int) { r.walk(s.Val) })
	}
}

// eachStore calls visit for every store to the component at path of the
// variable at addr, or to something around or inside it, with the path of the
// component within the stored value.
func eachStore(addr ssa.Value, path []int, seen map[ssa.Value]bool, visit func(*ssa.Store, []int)) {
	if seen[addr] || addr.Referrers() == nil {
		return
	}
	seen[addr] = true
	for _, r := range *addr.Referrers() {
		switch r := r.(type) {
		case *ssa.Store:
			if r.Addr == addr {
				visit(r, path)
			}
		case *ssa.FieldAddr:
			if len(path) == 0 {
				eachStore(r, nil, seen, visit)
			} else if path[0] == r.Field {
				eachStore(r, path[1:], seen, visit)
			}
		case *ssa.IndexAddr:
			if r.X == addr && !otherElement(r, path) {
				eachStore(r, path[min(1, len(path)):], seen, visit)
			}
		case *ssa.MakeClosure:
			for i, b := range r.Bindings {
				if b == addr {
					eachStore(r.Fn.(*ssa.Function).FreeVars[i], path, seen, visit)
				}
			}
		case *ssa.Call:
			if fn := r.Call.StaticCallee(); fn != nil {
				for i, a := range r.Call.Args {
					if a == addr && i < len(fn.Params) {
						eachStore(fn.Params[i], path, seen, visit)
					}
				}
			}
		}
	}
}

// otherElement reports whether r is an element other than the one path begins
// with.
func otherElement(r *ssa.IndexAddr, path []int) bool {
	if len(path) == 0 {
		return false
	}
	i, ok := inRange(r.Index, 1<<62)
	return ok && i != path[0]
}

// storedOnce reports whether the component at path of a is set exactly once,
// where a is made.
func storedOnce(a *ssa.Alloc, path []int) bool {
	n := 0
	eachStore(a, path, map[ssa.Value]bool{}, func(s *ssa.Store, _ []int) {
		if n++; s.Block() != a.Block() {
			n++
		}
	})
	return n == 1
}

// spaceAt predicts the memory that the pointer at path of variable a will point
// to, from what is stored there. A wrong guess is reported by the store.
func (f *funcLower) spaceAt(a *ssa.Alloc, path []int) ir.Space {
	space, found := ir.Global, false
	eachStore(a, path, map[ssa.Value]bool{}, func(st *ssa.Store, path []int) {
		if s, ok := f.spaceOf(st.Val, path, map[ssa.Value]bool{}); ok && !found {
			space, found = s, true
		}
	})
	return space
}

// madeIn lists the functions that return memory.
var madeIn = map[string]ir.Space{"dsl.Shared": ir.Shared, "dsl.SharedSlice": ir.Shared, "dsl.DynamicShared": ir.Shared, "dsl.LocalSlice": ir.Local}

func (f *funcLower) spaceOf(x ssa.Value, path []int, seen map[ssa.Value]bool) (ir.Space, bool) {
	if v, ok := f.env[x]; ok {
		return v.spaceAt(path)
	}
	if seen[x] {
		return 0, false
	}
	seen[x] = true
	switch x := x.(type) {
	case *ssa.Alloc:
		return ir.Local, true
	case *ssa.FieldAddr:
		return f.spaceOf(x.X, nil, seen)
	case *ssa.IndexAddr:
		return f.spaceOf(x.X, nil, seen)
	case *ssa.Slice:
		return f.spaceOf(x.X, nil, seen)
	case *ssa.ChangeType:
		return f.spaceOf(x.X, path, seen)
	case *ssa.Field:
		return f.spaceOf(x.X, append([]int{x.Field}, path...), seen)
	case *ssa.Phi:
		for _, e := range x.Edges {
			if s, ok := f.spaceOf(e, path, seen); ok {
				return s, true
			}
		}
	case *ssa.UnOp:
		return f.spaceLoaded(x.X, path, seen)
	case *ssa.Call:
		if c := f.l.callee(x.Call.StaticCallee()); c != nil {
			space, ok := madeIn[c.Key]
			return space, ok
		}
	}
	return 0, false
}

// spaceLoaded finds the space of a pointer that is read from a local variable.
func (f *funcLower) spaceLoaded(addr ssa.Value, path []int, seen map[ssa.Value]bool) (space ir.Space, ok bool) {
	if fa, isField := addr.(*ssa.FieldAddr); isField {
		return f.spaceLoaded(fa.X, append([]int{fa.Field}, path...), seen)
	}
	if v, known := f.env[addr]; known && v.cell != nil {
		return v.cell.spaceAt(path)
	}
	eachStore(addr, path, map[ssa.Value]bool{}, func(s *ssa.Store, path []int) {
		if !ok {
			space, ok = f.spaceOf(s.Val, path, seen)
		}
	})
	return space, ok
}

// spaceAt returns the space of the first pointer at path of a lowered value.
func (v val) spaceAt(path []int) (ir.Space, bool) {
	for _, i := range path {
		if v.cell != nil {
			v = *v.cell
		}
		v = v.part(i)
	}
	for _, leaf := range v.flatten(nil) {
		if leaf.Type.IsPtr() {
			return leaf.Type.Space, true
		}
	}
	return 0, false
}

// escapes reports whether x points to a variable of the function itself.
func escapes(x ssa.Value) bool { return len(roots(x)) > 0 }

// targetsOf returns the variables of the function that a store to addr changes,
// none if it may change memory of another function.
func targetsOf(addr ssa.Value) []*ssa.Alloc {
	switch x := addr.(type) {
	case *ssa.Alloc:
		return []*ssa.Alloc{x}
	case *ssa.FieldAddr:
		return targetsOf(x.X)
	case *ssa.IndexAddr:
		return targetsOf(x.X)
	}
	return nil
}

// remade reports whether control can come back to block a without passing d,
// so that a variable made in a is made again while one made in d lives on.
func remade(a, d *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{d: true}
	work := append([]*ssa.BasicBlock(nil), a.Succs...)
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[b] {
			continue
		}
		if b == a {
			return true
		}
		seen[b] = true
		work = append(work, b.Succs...)
	}
	return false
}
