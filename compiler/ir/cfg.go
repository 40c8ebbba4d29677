package ir

// Preds returns the predecessors of each block, indexed by block ID. A block
// that reaches another by both branches appears twice.
func (f *Func) Preds() [][]*Block {
	preds := make([][]*Block, f.nextBlock)
	for _, b := range f.Blocks {
		for _, e := range b.Term.Succs {
			preds[e.To.ID] = append(preds[e.To.ID], b)
		}
	}
	return preds
}

// RPO returns the blocks reachable from the entry in reverse postorder, with
// the blocks of every natural loop next to each other: a loop's exits come
// after all of its blocks.
func RPO(f *Func) []*Block {
	plain := postorder(f)
	reverse(plain)
	loops := loopsOf(f, plain, Dominators(f))
	if len(loops) == 0 {
		return plain
	}
	return postorderLoops(f, loops)
}

func postorder(f *Func) []*Block {
	if len(f.Blocks) == 0 {
		return nil
	}
	w := walker{seen: make([]bool, f.nextBlock)}
	w.visit(f.Blocks[0], func(b *Block) []*Block { return succs(b) })
	return w.out
}

func succs(b *Block) []*Block {
	out := make([]*Block, len(b.Term.Succs))
	for i, e := range b.Term.Succs {
		out[len(out)-1-i] = e.To // so that reverse postorder follows the first branch first
	}
	return out
}

// postorderLoops visits a block's successors outside its loops first, which
// puts them last in reverse postorder.
func postorderLoops(f *Func, loops []*Loop) []*Block {
	inner := make([]*Loop, f.nextBlock)
	for _, l := range loops { // outer loops first
		for _, b := range l.Blocks {
			inner[b.ID] = l
		}
	}
	depth := func(from *Block, to *Block) int { // how many loops of from still hold to
		n := 0
		for l := inner[from.ID]; l != nil; l = l.Parent {
			if l.Has(to) {
				n++
			}
		}
		return n
	}
	w := walker{seen: make([]bool, f.nextBlock)}
	w.visit(f.Blocks[0], func(b *Block) []*Block {
		out := succs(b)
		if len(out) == 2 && depth(b, out[0]) > depth(b, out[1]) {
			out[0], out[1] = out[1], out[0]
		}
		return out
	})
	reverse(w.out)
	return gatherLoops(w.out, inner)
}

// gatherLoops makes the blocks of each loop contiguous. Visiting exits first
// already does so for loops with one exit; a loop left from several places, at
// different depths, may still hold a foreign block in between.
func gatherLoops(order []*Block, inner []*Loop) []*Block {
	out := make([]*Block, 0, len(order))
	done := make(map[*Block]bool, len(order))
	var place func(b *Block, within *Loop)
	place = func(b *Block, within *Loop) {
		if done[b] {
			return
		}
		// The outermost loop of b inside within is placed as a whole.
		var l *Loop
		for c := inner[b.ID]; c != nil && c != within; c = c.Parent {
			l = c
		}
		if l == nil {
			done[b] = true
			out = append(out, b)
			return
		}
		for _, c := range order {
			if l.Has(c) {
				place(c, l)
			}
		}
	}
	for _, b := range order {
		place(b, nil)
	}
	return out
}

type walker struct {
	seen []bool
	out  []*Block
}

// visit appends b and all it reaches in postorder; it keeps its own stack
// because inlined kernels can be thousands of blocks deep.
func (w *walker) visit(b *Block, next func(*Block) []*Block) {
	type frame struct {
		b    *Block
		todo []*Block
	}
	w.seen[b.ID] = true
	stack := []frame{{b, next(b)}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.todo) == 0 {
			w.out = append(w.out, top.b)
			stack = stack[:len(stack)-1]
			continue
		}
		s := top.todo[0]
		top.todo = top.todo[1:]
		if !w.seen[s.ID] {
			w.seen[s.ID] = true
			stack = append(stack, frame{s, next(s)})
		}
	}
}

func reverse(bs []*Block) {
	for i, j := 0, len(bs)-1; i < j; i, j = i+1, j-1 {
		bs[i], bs[j] = bs[j], bs[i]
	}
}

// Loop is a natural loop: the blocks that reach a back edge to Header without
// passing Header. Back edges to one header make one loop.
type Loop struct {
	Header *Block
	Blocks []*Block // in reverse postorder, Header first
	Parent *Loop    // innermost loop around this one, nil for none
	Depth  int      // 1 for outermost loops

	has map[*Block]bool
}

// Has reports whether b is in l, inner loops included.
func (l *Loop) Has(b *Block) bool { return l.has[b] }

// Exits returns the edges that leave l, as pairs of source block and index of
// the successor.
func (l *Loop) Exits() []Exit {
	var out []Exit
	for _, b := range l.Blocks {
		for i, e := range b.Term.Succs {
			if !l.has[e.To] {
				out = append(out, Exit{b, i})
			}
		}
	}
	return out
}

// Exit is an edge out of a loop.
type Exit struct {
	From *Block
	Succ int
}

// Loops returns the natural loops of f, each after the loops around it.
func Loops(f *Func) []*Loop {
	rpo := postorder(f)
	reverse(rpo)
	return loopsOf(f, rpo, Dominators(f))
}

func loopsOf(f *Func, rpo []*Block, dom *DomTree) []*Loop {
	preds := f.Preds()
	var loops []*Loop
	for _, h := range rpo {
		l := &Loop{Header: h, has: map[*Block]bool{h: true}}
		var work []*Block
		for _, p := range preds[h.ID] {
			if dom.Dominates(h, p) {
				work = append(work, p)
			}
		}
		if len(work) == 0 {
			continue
		}
		for len(work) > 0 {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			if !l.has[b] {
				l.has[b] = true
				for _, p := range preds[b.ID] {
					if dom.Reachable(p) {
						work = append(work, p)
					}
				}
			}
		}
		for _, b := range rpo {
			if l.has[b] {
				l.Blocks = append(l.Blocks, b)
			}
		}
		for i := len(loops) - 1; i >= 0 && l.Parent == nil; i-- {
			if loops[i].has[h] {
				l.Parent = loops[i]
			}
		}
		l.Depth = 1
		if l.Parent != nil {
			l.Depth = l.Parent.Depth + 1
		}
		loops = append(loops, l)
	}
	return loops
}

// RemoveUnreachable drops the blocks that the entry does not reach.
func RemoveUnreachable(f *Func) {
	if len(f.Blocks) == 0 {
		return
	}
	seen := make([]bool, f.nextBlock)
	work := make([]*Block, 1, 32)
	work[0] = f.Blocks[0]
	seen[work[0].ID] = true
	n := 1
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, e := range b.Term.Succs {
			if !seen[e.To.ID] {
				seen[e.To.ID] = true
				n++
				work = append(work, e.To)
			}
		}
	}
	if n == len(f.Blocks) {
		return
	}
	kept := f.Blocks[:0]
	for _, b := range f.Blocks {
		if seen[b.ID] {
			kept = append(kept, b)
		}
	}
	clear(f.Blocks[len(kept):])
	f.Blocks = kept
}
