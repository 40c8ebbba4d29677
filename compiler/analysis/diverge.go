package analysis

import "github.com/gokiln/kiln/compiler/ir"

// spread records the consequences of a branch at the end of b on which threads
// disagree at level l: which blocks run under its control, which join paths from
// it, and which loops threads leave in different iterations because of it.
//
// It looks at one iteration of the innermost loop around b first. If all paths
// meet again in a block of this iteration, or in the loop's header, the branch
// ends there. If some paths leave the loop and others go into the next iteration
// the loop is divergent: all of it runs with part of the threads, and its exits
// are the branch that is looked at in the next loop out.
//
// Post-dominators in the whole graph would not do. In
//
//	for { if varying { continue }; barrier; if done { break } }
//
// every way out passes the barrier, yet threads arrive there in different
// iterations.
func (u *uniformity) spread(b *ir.Block, l ir.Uniformity) {
	var targets []*ir.Block
	for _, e := range b.Term.Succs {
		targets = append(targets, e.To)
	}
	for within := u.inner(b); ; within = within.Parent {
		w := &walk{u: u, cause: b, level: l, within: within, label: make([]int32, len(u.order))}
		if w.run(targets) || within == nil || !w.next || !w.out {
			return
		}
		targets = u.diverge(within, l, b)
	}
}

func (u *uniformity) inner(b *ir.Block) *Loop {
	if len(u.loops) == 0 {
		return nil
	}
	return u.loops[0].Inner[b.ID]
}

// under notes that block b runs under control of the branch at the end of cause.
func (u *uniformity) under(b, cause *ir.Block, l ir.Uniformity) {
	if u.control[b.ID] < l {
		u.control[b.ID], u.cause[b.ID] = l, cause
		u.changed = true
	}
}

// diverge marks a loop that threads leave in different iterations and returns
// the blocks it leaves to.
func (u *uniformity) diverge(lp *Loop, l ir.Uniformity, cause *ir.Block) []*ir.Block {
	var targets []*ir.Block
	edges := map[*ir.Block]int{}
	for _, b := range lp.Blocks {
		u.under(b, cause, l)
		for _, e := range b.Term.Succs {
			if lp.Has(e.To) {
				continue
			}
			switch edges[e.To]++; {
			case edges[e.To] == 1:
				targets = append(targets, e.To)
			case u.num[b.ID] < u.num[e.To.ID]:
				u.raise(&u.entry[e.To.ID], l)
			default:
				u.raise(&u.again[e.To.ID], l)
			}
		}
	}
	if u.temporal[lp] < l {
		u.temporal[lp] = l
		u.changed = true
	}
	return targets
}

// leaving returns how varying v becomes for a user in block to, which may be
// outside a divergent loop that defines v.
func (u *uniformity) leaving(v *ir.Value, to *ir.Block) ir.Uniformity {
	var l ir.Uniformity
	if v.Block == nil {
		return l
	}
	for lp := u.inner(v.Block); lp != nil && !lp.Has(to); lp = lp.Parent {
		l = max(l, u.temporal[lp])
	}
	return l
}

// walk follows the paths from a divergent branch through one iteration of the
// loop around it. Paths are told apart by labels: each target starts one, and a
// block that two labels reach joins paths and starts a label of its own.
type walk struct {
	u       *uniformity
	cause   *ir.Block
	level   ir.Uniformity
	within  *Loop
	label   []int32 // position in order -> label, 0 before any
	pending int     // blocks reached but not passed
	next    bool    // some path goes into the next iteration
	out     bool    // some path leaves the loop or returns
	back    int32   // label that reached the header
}

// run reports whether all paths meet again in one block.
func (w *walk) run(targets []*ir.Block) bool {
	for i, t := range targets {
		w.reach(-1, t, int32(i)+1)
	}
	// In reverse postorder all forward edges into a block come before it, so when
	// a single block is pending and no path has ended, all paths lead there.
	for i := int32(0); w.pending > 0; i++ {
		if w.label[i] == 0 {
			continue
		}
		w.pending--
		if w.pending == 0 && !w.next && !w.out {
			return true
		}
		b := w.u.order[i]
		w.u.under(b, w.cause, w.level)
		for _, e := range b.Term.Succs {
			w.reach(i, e.To, w.label[i])
		}
		if b.Term.Kind == ir.TermReturn {
			w.out = true
		}
	}
	return false
}

// reach carries a label from the block at position from to to.
func (w *walk) reach(from int32, to *ir.Block, label int32) {
	if w.within != nil && to == w.within.Header {
		w.next = true
		if w.back != 0 && w.back != label {
			w.u.raise(&w.u.again[to.ID], w.level)
		}
		w.back = label
		return
	}
	if w.within != nil && !w.within.Has(to) {
		w.out = true
		return
	}
	i := w.u.num[to.ID]
	switch {
	case w.label[i] == label:
	case w.label[i] == 0 && i > from:
		w.label[i] = label
		w.pending++
	case w.label[i] == 0:
		w.u.giveUp(w.cause, w.level)
	case i <= from:
		w.u.raise(&w.u.join[to.ID], w.level)
	default:
		w.u.raise(&w.u.entry[to.ID], w.level)
		w.label[i] = int32(len(w.label)) + i + 2 // no target has this label
	}
}

// giveUp handles a jump into the middle of a loop, which Go without goto does
// not have: everything is taken to be under the branch's control.
func (u *uniformity) giveUp(cause *ir.Block, l ir.Uniformity) {
	for _, b := range u.order {
		u.under(b, cause, l)
		u.raise(&u.join[b.ID], l)
	}
}
