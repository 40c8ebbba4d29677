package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// dceModule removes what no function needs.
func dceModule(m *ir.Module, _ *Options) error {
	for _, f := range m.Funcs {
		dce(f)
	}
	m.Shared = dropUnnamed(m, m.Shared, ir.OpShared, ir.OpSharedSized)
	m.Tables = dropUnnamed(m, m.Tables, ir.OpTable)
	return nil
}

// dropUnnamed removes the objects that no operation of those given names: a block, or the device,
// would be given memory for them.
func dropUnnamed[T any](m *ir.Module, objects []T, by ...ir.Op) []T {
	if len(objects) == 0 {
		return objects
	}
	names := make([][]*ir.Value, len(objects))
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			for _, v := range b.Instrs {
				if slices.Contains(by, v.Op) {
					names[v.Imm] = append(names[v.Imm], v)
				}
			}
		}
	}
	kept := objects[:0]
	for i, o := range objects {
		if len(names[i]) == 0 {
			continue
		}
		for _, v := range names[i] {
			v.Imm = uint64(len(kept))
		}
		kept = append(kept, o)
	}
	return kept
}

// dce removes what has no effect: unused values and block parameters, blocks
// that nothing reaches, and stores to local objects that nothing reads.
// It leaves the blocks in reverse postorder with loops contiguous, the order that
// reads best and that targets want.
func dce(f *ir.Func) {
	f.Blocks = analysis.LoopOrder(f)
	sweep(f, hasEffect)
}

// sweep marks what the operations of f that keep names need and drops the rest.
func sweep(f *ir.Func, keep func(ir.Op) bool) {
	l := &liveness{f: f, keep: keep, live: make([]bool, f.NumValues())}
	if hasParams(f) {
		l.in = analysis.InEdges(f)
	}
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			l.root(v)
		}
		for _, a := range b.Term.Args {
			l.mark(a)
		}
	}
	l.run()
	for _, b := range f.Blocks {
		b.Instrs = slices.DeleteFunc(b.Instrs, func(v *ir.Value) bool { return !l.live[v.ID] })
		for i := len(b.Params) - 1; i >= 0; i-- {
			if !l.live[b.Params[i].ID] {
				dropParam(b, i, l.in[b.ID])
			}
		}
	}
}

type liveness struct {
	f    *ir.Func
	keep func(ir.Op) bool
	live []bool
	in   [][]analysis.Edge
	work []*ir.Value
	// writes to a local object are needed once something else uses the object
	writes map[*ir.Value][]*ir.Value
}

func (l *liveness) root(v *ir.Value) {
	switch {
	case (v.Op == ir.OpStore || v.Op == ir.OpZero) && analysis.BaseOf(v.Args[0]).Op == ir.OpLocal:
		if l.writes == nil {
			l.writes = map[*ir.Value][]*ir.Value{}
		}
		base := analysis.BaseOf(v.Args[0])
		l.writes[base] = append(l.writes[base], v)
	case l.keep(v.Op):
		l.mark(v)
	}
}

// hasEffect reports whether op must run even if its result is unused. Warp
// operations yield nothing else: all lanes drop an unused one together.
func hasEffect(op ir.Op) bool {
	if op == ir.OpCall || op == ir.OpBarrier || op == ir.OpGridBarrier || op == ir.OpWarpBarrier {
		return true
	}
	return op.Has(ir.Writes | ir.Fails)
}

// mustConverge is hasEffect for passes before converge, which wants to see warp
// operations with unused results too.
func mustConverge(op ir.Op) bool { return hasEffect(op) || op.Has(ir.Convergent) }

func (l *liveness) mark(v *ir.Value) {
	if !l.live[v.ID] {
		l.live[v.ID] = true
		l.work = append(l.work, v)
	}
}

func (l *liveness) run() {
	for len(l.work) > 0 {
		v := l.work[len(l.work)-1]
		l.work = l.work[:len(l.work)-1]
		for _, a := range v.Args {
			l.mark(a)
		}
		switch v.Op {
		case ir.OpBlockParam:
			i := slices.Index(v.Block.Params, v)
			for _, e := range l.in[v.Block.ID] {
				l.mark(e.Args()[i])
			}
		case ir.OpLocal:
			for _, w := range l.writes[v] {
				l.mark(w)
			}
		}
	}
}
