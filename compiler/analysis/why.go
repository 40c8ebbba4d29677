package analysis

import "github.com/gokiln/kiln/compiler/ir"

// Reason is a step on the path from a divergent condition to
// where their values begin to differ.
type Reason struct {
	Kind ReasonKind
	Op   *ir.Value
	Pos  int // index into Module.Pos
}

// ReasonKind says what a step is.
type ReasonKind uint8

// The kinds of steps.
const (
	Differs ReasonKind = iota // Op itself gives threads different values; the last step
	Read                      // Op reads memory at an address that differs
	Parted                    // the value depends on the side that a thread took at the branch on Op
	Leaves                    // the value is of the iteration in which a thread left a loop, by the branch on Op
)

// why explains the level of v as block b sees it. The first step is the nearest
// to v, the last where values begin to differ; it is empty if that cannot be told.
func (u *uniformity) why(v *ir.Value, b *ir.Block) []Reason {
	w := whyWalk{u: u, need: u.seen(v, b), seen: map[*ir.Value]bool{}}
	if w.need == ir.UniformGrid || !w.value(v, b) {
		return nil
	}
	return w.steps
}

// whyWalk looks for one path back, depth first. The steps are those of the path so
// far.
type whyWalk struct {
	u     *uniformity
	need  ir.Uniformity
	seen  map[*ir.Value]bool
	steps []Reason
}

// step follows next after noting a reason, and takes it back if that leads nowhere.
func (w *whyWalk) step(kind ReasonKind, op *ir.Value, pos int, next func() bool) bool {
	n := len(w.steps)
	w.steps = append(w.steps, Reason{kind, op, pos})
	if next() {
		return true
	}
	w.steps = w.steps[:n]
	return false
}

func (w *whyWalk) value(v *ir.Value, b *ir.Block) bool {
	u := w.u
	if u.seen(v, b) < w.need {
		return false
	}
	if u.level[v.ID] < w.need {
		return w.left(v, b)
	}
	if w.seen[v] {
		return false
	}
	w.seen[v] = true
	switch {
	case v.Op == ir.OpBlockParam:
		return w.param(v)
	case v.Op == ir.OpLoad:
		return w.load(v)
	case w.args(v):
		return true
	}
	if v.Op.Info().Uniform >= w.need {
		w.steps = append(w.steps, Reason{Differs, v, v.Pos})
		return true
	}
	return false
}

func (w *whyWalk) args(v *ir.Value) bool {
	for _, a := range v.Args {
		if w.value(a, v.Block) {
			return true
		}
	}
	return false
}

// load follows the address, or for a local object what was stored there.
func (w *whyWalk) load(v *ir.Value) bool {
	p := v.Args[0]
	if p.Type.Space != ir.Local {
		return w.step(Read, v, v.Pos, func() bool { return w.value(p, v.Block) })
	}
	base := BaseOf(p)
	if w.indices(p, base) {
		return true
	}
	for _, b := range w.u.order {
		for _, s := range b.Instrs {
			if s.Op == ir.OpStore && BaseOf(s.Args[0]) == base && (w.value(s.Args[1], b) || w.indices(s.Args[0], base) || w.under(b)) {
				return true
			}
		}
	}
	w.steps = append(w.steps, Reason{Differs, v, v.Pos})
	return true
}

// indices follows those between an object and a pointer into it.
func (w *whyWalk) indices(p, base *ir.Value) bool {
	for ; p != base; p = p.Args[0] {
		if len(p.Args) > 1 && w.value(p.Args[1], p.Block) {
			return true
		}
	}
	return false
}

// param follows the values that a join brings together, or the branch that
// decides between them.
func (w *whyWalk) param(v *ir.Value) bool {
	b := v.Block
	i := 0
	for j, p := range b.Params {
		if p == v {
			i = j
		}
	}
	for _, e := range w.u.in[b.ID] {
		if w.u.num[e.From.ID] >= 0 && w.value(e.Args()[i], b) {
			return true
		}
	}
	for _, e := range w.u.in[b.ID] {
		if w.u.num[e.From.ID] >= 0 && (w.branch(Parted, e.From) || w.under(e.From)) {
			return true
		}
	}
	return false
}

// under follows the branch that b runs under the control of.
func (w *whyWalk) under(b *ir.Block) bool {
	cause := w.u.cause[b.ID]
	return w.u.control[b.ID] >= w.need && cause != nil && w.branch(Parted, cause)
}

// branch follows the condition at the end of b, if threads disagree on it.
func (w *whyWalk) branch(kind ReasonKind, b *ir.Block) bool {
	if b.Term.Kind != ir.TermBranch {
		return false
	}
	cond := b.Term.Args[0]
	return w.step(kind, cond, b.Term.Pos, func() bool { return w.value(cond, b) })
}

// left follows the branch by which threads leave the loop around v in different
// iterations.
func (w *whyWalk) left(v *ir.Value, to *ir.Block) bool {
	u := w.u
	for lp := u.inner(v.Block); lp != nil && !lp.Has(to); lp = lp.Parent {
		if u.temporal[lp] < w.need {
			continue
		}
		for _, b := range lp.Blocks {
			if cause := u.cause[b.ID]; cause != nil && w.branch(Leaves, cause) {
				return true
			}
		}
	}
	return false
}
