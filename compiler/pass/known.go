package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// largeModule is from how many operations on [known] is worth its time.
const largeModule = 2000

// smallCallee is up to how many operations a function is copied into its callers before these are
// folded.
const smallCallee = 100

// known decides the branches of the kernel's functions that depend on nothing but compile-time values,
// before calls are inlined. Those of generic code, such as package tile's, are for other types, targets
// and configurations, and what is behind them would be copied into every caller, to be dropped at the
// end.
//
// What a parameter is in all calls is found from the kernel down (interprocedural constant propagation,
// Callahan, Cooper, Kennedy and Torczon, 1986). A struct of compile-time values is local objects by
// now, each with one store in the entry block, whose addresses are passed to functions that only load.
// Functions of up to so many operations are inlined first: branches depend on what they return.
func known(m *ir.Module, small int) {
	k := knowledge{small: small, state: map[*ir.Func]int{}, stored: map[*ir.Value]bool{}, facts: map[*ir.Value]fact{}}
	kernel := m.Kernel()
	if kernel == nil || !k.scan(kernel) {
		return
	}
	reached := map[*ir.Func]bool{kernel: true}
	for _, f := range slices.Backward(k.order) { // callers first
		if !reached[f] {
			continue
		}
		constants := k.rewrite(f)
		fold(f)
		for _, b := range f.Blocks {
			for _, v := range b.Instrs {
				if v.Op == ir.OpCall {
					reached[v.Callee] = true
					k.call(v, constants)
				}
			}
		}
	}
	m.Funcs = slices.DeleteFunc(m.Funcs, func(f *ir.Func) bool { return !reached[f] })
}

type knowledge struct {
	small  int
	state  map[*ir.Func]int
	order  []*ir.Func         // callees first
	stored map[*ir.Value]bool // pointer parameters that are not only loaded from
	facts  map[*ir.Value]fact // of parameters: their values, or those that pointers point to
}

// fact is a value in all calls so far.
type fact struct {
	imm    uint64
	varies bool
}

// scan orders the functions, inlines small ones, and finds out which only load. It reports false if
// one calls itself.
func (k *knowledge) scan(f *ir.Func) bool {
	switch k.state[f] {
	case stateDone:
		return true
	case stateOpen:
		return false
	}
	k.state[f] = stateOpen
	small := false
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			if v.Op != ir.OpCall {
				continue
			}
			if !k.scan(v.Callee) {
				return false
			}
			small = small || k.isSmall(v.Callee)
		}
	}
	k.state[f] = stateDone
	k.order = append(k.order, f)
	if small {
		inlineCalls(f, k.isSmall)
		ir.RemoveUnreachable(f)
	}
	k.uses(f, nil)
	return true
}

// isSmall reports whether a function has few operations, and no calls.
func (k *knowledge) isSmall(f *ir.Func) bool {
	for _, b := range f.Blocks {
		if slices.ContainsFunc(b.Instrs, func(v *ir.Value) bool { return v.Op == ir.OpCall }) {
			return false
		}
	}
	return operations(f) <= k.small
}

// uses notes which pointer parameters f does more with than load, and in constants the values of local
// objects that are stored once, before all else is done with them.
func (k *knowledge) uses(f *ir.Func, constants map[*ir.Value]uint64) {
	touched := map[*ir.Value]bool{}
	other := func(list []*ir.Value) {
		for _, a := range list {
			k.stored[a] = true
		}
	}
	for i, b := range f.Blocks {
		for _, v := range b.Instrs {
			for n, a := range v.Args {
				if !analysis.IsLocalPtr(a) {
					continue
				}
				switch {
				case v.Op == ir.OpLoad:
				case v.Op == ir.OpCall && !k.stored[v.Callee.Params[n]]:
				case v.Op == ir.OpStore && n == 0 && i == 0 && a.Op == ir.OpLocal && !touched[a] && v.Args[1].Op == ir.OpConst:
					if constants != nil {
						constants[a] = v.Args[1].Imm
					}
				default:
					k.stored[a] = true
				}
				touched[a] = true
			}
		}
		other(b.Term.Args)
		for _, e := range b.Term.Succs {
			other(e.Args)
		}
	}
	for a := range constants {
		if k.stored[a] {
			delete(constants, a)
		}
	}
}

// rewrite puts constants in the place of what is known in f, and returns the values of local objects.
func (k *knowledge) rewrite(f *ir.Func) map[*ir.Value]uint64 {
	constants := map[*ir.Value]uint64{}
	k.uses(f, constants)
	for _, p := range f.Params {
		if x, ok := k.facts[p]; ok && !x.varies && analysis.IsLocalPtr(p) {
			constants[p] = x.imm
		}
	}
	repl := newReplacer(f)
	var list []*ir.Value
	for _, p := range f.Params {
		if x, ok := k.facts[p]; ok && !x.varies && !analysis.IsLocalPtr(p) {
			c := f.NewValue(ir.OpConst, p.Type)
			c.Imm, c.Block = x.imm, f.Blocks[0]
			list = append(list, c)
			repl.set(p, c)
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			if v.Op != ir.OpLoad {
				continue
			}
			if imm, ok := constants[v.Args[0]]; ok {
				become(v, ir.OpConst, v.Type)
				v.Imm = imm
			}
		}
	}
	f.Blocks[0].Instrs = slices.Insert(f.Blocks[0].Instrs, 0, list...)
	repl.apply(f)
	return constants
}

// call notes what a call passes.
func (k *knowledge) call(v *ir.Value, constants map[*ir.Value]uint64) {
	for i, a := range v.Args {
		p := v.Callee.Params[i]
		x := fact{varies: true}
		imm, ok := constants[a]
		switch {
		case analysis.IsLocalPtr(a):
			if ok && !k.stored[p] {
				x = fact{imm: imm}
			}
		case a.Op == ir.OpConst:
			x = fact{imm: a.Imm}
		}
		if before, seen := k.facts[p]; seen && before != x {
			x = fact{varies: true}
		}
		k.facts[p] = x
	}
}
