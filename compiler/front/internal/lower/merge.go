package lower

import (
	"fmt"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// Fields of a struct variable live apart where they can. A pointer to such a
// struct has another form than one to a struct in memory, an element of an array
// for example, and no pointer is either. So where paths join on which a pointer
// may have different targets, the struct is in memory as a whole; pass sroa takes
// it apart later if it can.

// merges reports whether a pointer to variable a, or to a part of it, may meet
// other pointers: where paths join, in a variable, or as the result of a function.
func merges(a *ssa.Alloc) bool {
	m := merger{seen: map[ssa.Value]bool{}}
	return m.meets(a)
}

type merger struct{ seen map[ssa.Value]bool }

func (m *merger) meets(addr ssa.Value) bool {
	if m.seen[addr] || addr.Referrers() == nil {
		return false
	}
	m.seen[addr] = true
	for _, r := range *addr.Referrers() {
		switch r := r.(type) {
		case *ssa.Phi:
			return true
		case *ssa.Store:
			if cell, ok := r.Addr.(*ssa.Alloc); r.Val == addr && !(ok && setOnce(cell)) {
				return true
			}
		case *ssa.FieldAddr:
			if m.meets(r) {
				return true
			}
		case *ssa.Return:
			if returns(r.Parent()) > 1 {
				return true
			}
		case *ssa.Call:
			if m.passed(r, addr) {
				return true
			}
		case *ssa.MakeClosure:
			for i, b := range r.Bindings {
				if b == addr && m.meets(r.Fn.(*ssa.Function).FreeVars[i]) {
					return true
				}
			}
		}
	}
	return false
}

// passed follows a pointer into the function that it is an argument of.
func (m *merger) passed(call *ssa.Call, addr ssa.Value) bool {
	fn := call.Call.StaticCallee()
	if fn == nil {
		return false
	}
	for i, a := range call.Call.Args {
		if a == addr && i < len(fn.Params) && m.meets(fn.Params[i]) {
			return true
		}
	}
	return false
}

func returns(fn *ssa.Function) (n int) {
	for _, b := range fn.Blocks {
		if _, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
			n++
		}
	}
	return n
}

// mismatched reports that values of a type with pointers or functions meet that
// the compiler cannot join.
func (f *funcLower) mismatched(t types.Type, a, b val) {
	if _, ok := t.Underlying().(*types.Signature); ok {
		f.report(diag.FuncValue, "which function is meant depends on the path taken")
		return
	}
	one, other := memoryOf(a), memoryOf(b)
	if one == other {
		f.report(diag.MixedSpaces, "%s points to different variables on different paths, which hold pointers themselves", gotype.Name(t))
		return
	}
	f.report(diag.MixedSpaces, "%s points to %s memory on one path and to %s memory on another", gotype.Name(t), one, other)
}

// memoryOf names the memory that a value with pointers points to.
func memoryOf(v val) string {
	if s, ok := v.spaceAt(nil); ok {
		return fmt.Sprint(s)
	}
	return fmt.Sprint(ir.Local) // a variable in registers
}

// keptAt names the memory that the pointers kept at addr point to.
func keptAt(addr val) string {
	if addr.v != nil && addr.v.Type.Elem.IsPtr() {
		return fmt.Sprint(addr.v.Type.Elem.Space)
	}
	if addr.v != nil && pointerAt(addr.v) != nil {
		return fmt.Sprint(pointerAt(addr.v).Space)
	}
	return "other"
}
