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

func reverse(bs []*Block) {
	for i, j := 0, len(bs)-1; i < j; i, j = i+1, j-1 {
		bs[i], bs[j] = bs[j], bs[i]
	}
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
