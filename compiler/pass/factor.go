package pass

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// unrollByFactor unrolls the loops of f that have a //kiln:unroll by the factor there, inner loops
// first, and reports whether there are any. What is left is loops to leave as they are.
func unrollByFactor(f *ir.Func, small bool) (any bool, err error) {
	for slices.ContainsFunc(f.Blocks, func(b *ir.Block) bool { return b.Unroll.Times > 1 }) {
		ir.RemoveUnreachable(f)
		u, r := newUnroller(f), analysis.NewRanges(f, small)
		u.dom = r.Dom
		i := len(r.Loops) - 1
		for i >= 0 && r.Loops[i].Header.Unroll.Times <= 1 {
			i--
		}
		if i < 0 {
			break
		}
		l := r.Loops[i]
		if msg := u.tooLarge(l, l.Header.Unroll.Times); msg != "" {
			return any, &MistakeError{[]Mistake{{NotUnrolled, l.Header.Unroll.Pos, msg}}}
		}
		u.times(r, l)
		any = true
	}
	return any, nil
}

// tooLarge says that n bodies of l are more than a kernel may have, "" if they are not.
func (u *unroller) tooLarge(l *analysis.Loop, n int) string {
	size := 0
	for _, b := range l.Blocks {
		size += sizeOf(b)
	}
	if n > maxFuncSize || u.size+n*size > maxFuncSize {
		return fmt.Sprintf("the bodies of the unrolled loop have %d operations, the kernel may have %d", n*size, maxFuncSize)
	}
	return ""
}

// times unrolls l by the factor that its author asked for: without tests between
// them if it is counted, otherwise each with the tests that it has.
func (u *unroller) times(r *analysis.Ranges, l *analysis.Loop) {
	n := l.Header.Unroll.Times
	l.Header.Unroll.Times = 1 // here and in copies
	if c := countedLoop(r, l, n); c != nil {
		u.interleave(c)
		return
	}
	if c := evenLoop(l, n); c != nil {
		u.repeat(c)
		return
	}
	u.chain(l, n)
}

// chain makes n bodies of l follow each other with their tests.
func (u *unroller) chain(l *analysis.Loop, n int) {
	p := &plan{Loop: l}
	u.isolate(p)
	next := l.Header
	for range n - 1 { // from the last body to the second
		c := u.copyLoop(p)
		header := c.blocks[l.Header.ID]
		for _, e := range l.Latches {
			c.blocks[e.From.ID].Term.Succs[e.Succ].To = next
		}
		next = header
	}
	for _, e := range l.Latches {
		e.From.Term.Succs[e.Succ].To = next
	}
	if len(u.spill) > 0 {
		promote(u.f, newSplitter(u.f).only(u.spill))
		u.spill = nil
	}
}

// leaveAlone drops unroll factors but for those of loops that no later compiler is to unroll.
func leaveAlone(f *ir.Func) {
	if !slices.ContainsFunc(f.Blocks, func(b *ir.Block) bool { return b.Unroll.Times != 0 }) {
		return
	}
	heads := map[*ir.Block]bool{}
	for _, l := range analysis.Loops(f, analysis.InEdges(f)) {
		heads[l.Header] = true
	}
	for _, b := range f.Blocks {
		if b.Unroll.Times != 1 || !heads[b] {
			b.Unroll = ir.Unroll{}
		}
	}
}

// unfulfilled returns the loops of f that should have been replaced by their bodies and are still
// there.
func unfulfilled(f *ir.Func) (found []Mistake) {
	complete := func(b *ir.Block) bool { return b.Unroll.Times == ir.UnrollFully }
	if !slices.ContainsFunc(f.Blocks, complete) {
		return nil
	}
	u := newUnroller(f)
	u.dom = ir.Dominators(f)
	for _, l := range analysis.LoopsIn(f, u.in, u.dom) {
		if !complete(l.Header) {
			continue
		}
		msg := "how often the loop runs is not known at compile time"
		for _, b := range l.Exits() {
			if n, ok := u.trips(l, b, maxFuncSize); ok {
				msg = u.tooLarge(l, n)
			}
		}
		found = append(found, Mistake{NotUnrolled, l.Header.Unroll.Pos, msg})
	}
	return found
}
