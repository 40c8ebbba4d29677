package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// licm moves pure operations on values from outside a loop in front of it, and
// loads that are sure to happen and whose memory the loop does not change. No
// operation traps, so one that the loop would have skipped does no harm.
func licm(f *ir.Func) {
	ir.RemoveUnreachable(f)
	if !analysis.HasBackEdge(f) {
		return
	}
	made := false
	loops := analysis.Loops(f, analysis.InEdges(f))
	for _, l := range loops {
		if l.Preheader() == nil {
			makePreheader(f, l)
			made = true
		}
	}
	if made {
		loops = analysis.Loops(f, analysis.InEdges(f))
	}
	for _, l := range slices.Backward(loops) { // inner loops first
		h := &hoister{Loop: l, to: l.Preheader()}
		h.run()
	}
	if made {
		straighten(f)
	}
}

func makePreheader(f *ir.Func, l *analysis.Loop) {
	p := f.NewBlock()
	args := make([]*ir.Value, len(l.Header.Params))
	for i, q := range l.Header.Params {
		args[i] = p.NewParam(f, q.Type)
		args[i].Pos = q.Pos
	}
	p.Jump(l.Header, args...)
	for _, e := range l.Entries {
		e.From.Term.Succs[e.Succ].To = p
	}
}

type hoister struct {
	*analysis.Loop
	to      *ir.Block
	writes  [ir.NumSpaces]bool // by space: the loop may change memory there
	scanned bool
}

func (h *hoister) run() {
	failing := false // an operation that may fail came before
	for _, b := range h.Blocks {
		kept := b.Instrs[:0]
		for _, v := range b.Instrs {
			if h.movable(v, b, failing) {
				h.to.Append(v)
				continue
			}
			failing = failing || v.Op.Has(ir.Fails)
			kept = append(kept, v)
		}
		clear(b.Instrs[len(kept):])
		b.Instrs = kept
	}
}

func (h *hoister) movable(v *ir.Value, b *ir.Block, failing bool) bool {
	if v.Op != ir.OpLoad && (!v.Op.Pure() || v.Op == ir.OpLocal) {
		return false
	}
	for _, a := range v.Args {
		if a.Block != nil && h.Has(a.Block) {
			return false
		}
	}
	if v.Op != ir.OpLoad {
		return true
	}
	certain := b == h.Header && !failing
	return (certain || dereferenceable(v.Args[0])) && !h.changes(v.Args[0].Type.Space)
}

// dereferenceable reports whether p is a constant path into an object.
func dereferenceable(p *ir.Value) bool {
	for ; !isObject(p); p = p.Args[0] {
		switch p.Op {
		case ir.OpField:
		case ir.OpIndex:
			i := p.Args[1]
			if !i.IsConst() || i.Imm >= uint64(p.Args[0].Type.Elem.Len) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// changes reports whether the loop may change memory in space s.
func (h *hoister) changes(s ir.Space) bool {
	if !h.scanned {
		h.scanned = true
		for _, b := range h.Blocks {
			for _, v := range b.Instrs {
				h.note(v)
			}
		}
	}
	return h.writes[s]
}

func (h *hoister) note(v *ir.Value) {
	switch {
	case v == nil || !v.Op.Has(ir.Writes):
	case v.Op == ir.OpStore || v.Op == ir.OpZero || v.Op == ir.OpCopyAsync || v.Op == ir.OpCopyVec || v.Op.IsMatrix():
		h.writes[v.Args[0].Type.Space] = true
	default: // barriers and atomics let other threads' writes in
		h.writes[ir.Global], h.writes[ir.Shared] = true, true
		h.writes[ir.Local] = h.writes[ir.Local] || v.Op == ir.OpCall || v.Op == ir.OpWarpgroupWait
	}
}
