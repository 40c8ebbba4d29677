package ir

// DomTree is a dominator or post-dominator tree. Positions are those in Order.
type DomTree struct {
	Order    []*Block // reverse postorder; that of a post-dominator tree begins with a virtual exit
	Num      []int32  // block ID -> position, -1 of blocks that are not in the tree
	Parent   []int32  // position -> position of the immediate dominator, of the root its own
	pre, end []int32  // position -> interval of the subtree in a preorder
	exit     *Block   // the virtual exit
}

// Idom returns the immediate dominator of b, nil for the root. In a
// post-dominator tree nil means that only the exit post-dominates b.
func (t *DomTree) Idom(b *Block) *Block {
	i := t.Num[b.ID]
	if i <= 0 {
		return nil
	}
	if d := t.Order[t.Parent[i]]; d != t.exit {
		return d
	}
	return nil
}

// Reachable reports whether b is in the tree.
func (t *DomTree) Reachable(b *Block) bool { return t.Num[b.ID] >= 0 }

// Dominates reports whether a dominates b, in constant time; every block dominates itself.
func (t *DomTree) Dominates(a, b *Block) bool {
	i, j := t.Num[a.ID], t.Num[b.ID]
	return i >= 0 && j >= 0 && t.pre[i] <= t.pre[j] && t.pre[j] < t.end[i]
}

// Children returns the children of each position, as positions.
func (t *DomTree) Children() [][]int32 {
	n := make([]int32, len(t.Order))
	for i := 1; i < len(t.Order); i++ {
		n[t.Parent[i]]++
	}
	kids := make([][]int32, len(t.Order))
	all := make([]int32, len(t.Order))
	for i, k := range n {
		kids[i], all = all[:0:k], all[k:]
	}
	for i := 1; i < len(t.Order); i++ {
		d := t.Parent[i]
		kids[d] = append(kids[d], int32(i))
	}
	return kids
}

// Dominators returns the dominator tree of f.
func Dominators(f *Func) *DomTree {
	if len(f.Blocks) == 0 {
		return &DomTree{}
	}
	preds := f.Preds()
	s := newSearch(f.nextBlock)
	s.walk(f.Blocks[0], (*Block).Backwards)
	return s.tree(func(b *Block) []*Block { return preds[b.ID] })
}

// PostDominators returns the post-dominator tree of f, rooted at a virtual exit
// that follows every return. Blocks that cannot reach a return, as in an
// endless loop, are not in the tree.
func PostDominators(f *Func) *DomTree {
	preds := f.Preds()
	exit := &Block{ID: f.nextBlock}
	var rets []*Block
	for _, b := range f.Blocks {
		if len(b.Term.Succs) == 0 {
			rets = append(rets, b)
		}
	}
	s := newSearch(f.nextBlock + 1)
	s.walk(exit, func(b *Block) []*Block {
		if b == exit {
			return rets
		}
		return preds[b.ID]
	})
	t := s.tree(func(b *Block) []*Block {
		if len(b.Term.Succs) == 0 {
			return []*Block{exit}
		}
		return b.Backwards()
	})
	t.exit = exit
	return t
}

// search is a depth-first search, and what Lengauer and Tarjan's algorithm notes of it. Blocks have
// numbers in preorder.
type search struct {
	num    []int32  // block ID -> number, -1 if it was not reached
	pre    []*Block // by number
	up     []int32  // the block from which one was reached
	post   []*Block // in postorder
	semi   []int32  // semidominator
	label  []int32  // the block with the least semidominator on the path to the root of the forest
	forest []int32  // an ancestor in the forest of blocks that are done, -1 of a root
	path   []int32  // room for compress
}

func newSearch(n int) *search {
	s := &search{num: make([]int32, n)}
	for i := range s.num {
		s.num[i] = -1
	}
	return s
}

// walk visits what root reaches, and numbers it.
func (s *search) walk(root *Block, next func(*Block) []*Block) {
	s.post = DepthFirst(root, len(s.num), next, func(b, from *Block) {
		up := int32(-1)
		if from != nil {
			up = s.num[from.ID]
		}
		s.num[b.ID] = int32(len(s.pre))
		s.pre, s.up = append(s.pre, b), append(s.up, up)
	})
}

// dominators returns the number of each block's immediate dominator, by Lengauer and Tarjan, "A
// Fast Algorithm for Finding Dominators in a Flowgraph" (1979), in the form that takes time m·log
// n. That by Cooper, Harvey and Kennedy goes up the tree for each edge: a switch of n cases takes
// time n².
func (s *search) dominators(preds func(*Block) []*Block) []int32 {
	n := len(s.pre)
	buf := make([]int32, 6*n)
	cut := func() []int32 { part := buf[:n:n]; buf = buf[n:]; return part }
	s.semi, s.label, s.forest = cut(), cut(), cut()
	idom, bucket, next := cut(), cut(), cut() // a bucket is a list of the blocks with one semidominator
	for i := range int32(n) {
		s.semi[i], s.label[i], s.forest[i], bucket[i] = i, i, -1, -1
	}
	for w := int32(n - 1); w > 0; w-- {
		for _, p := range preds(s.pre[w]) {
			if v := s.num[p.ID]; v >= 0 {
				s.semi[w] = min(s.semi[w], s.semi[s.least(v)])
			}
		}
		next[w], bucket[s.semi[w]] = bucket[s.semi[w]], w
		up := s.up[w]
		s.forest[w] = up
		for v := bucket[up]; v >= 0; v = next[v] {
			if u := s.least(v); s.semi[u] < s.semi[v] {
				idom[v] = u // has the same dominator, which is known later
			} else {
				idom[v] = up
			}
		}
		bucket[up] = -1
	}
	for w := range int32(n) {
		if idom[w] != s.semi[w] {
			idom[w] = idom[idom[w]]
		}
	}
	return idom
}

// least is the block with the least semidominator between v and the root of its tree in the forest,
// which does not count. It makes the path shorter.
func (s *search) least(v int32) int32 {
	if s.forest[v] < 0 {
		return v
	}
	s.path = s.path[:0]
	for x := v; s.forest[s.forest[x]] >= 0; x = s.forest[x] {
		s.path = append(s.path, x)
	}
	for i := len(s.path) - 1; i >= 0; i-- {
		x := s.path[i]
		up := s.forest[x]
		if s.semi[s.label[up]] < s.semi[s.label[x]] {
			s.label[x] = s.label[up]
		}
		s.forest[x] = s.forest[up]
	}
	return s.label[v]
}

// tree returns the dominator tree of what was walked.
func (s *search) tree(preds func(*Block) []*Block) *DomTree {
	idom := s.dominators(preds)
	n := len(s.pre)
	buf := make([]int32, len(s.num)+3*n)
	t := &DomTree{Order: s.post, Num: buf[:len(s.num)]}
	buf = buf[len(s.num):]
	t.Parent, t.pre, t.end = buf[:n], buf[n:2*n], buf[2*n:]
	reverse(t.Order)
	for i := range t.Num {
		t.Num[i] = -1
	}
	for i, b := range t.Order {
		t.Num[b.ID] = int32(i)
	}
	for i, b := range t.Order {
		t.Parent[i] = t.Num[s.pre[idom[s.num[b.ID]]].ID]
	}
	t.number()
	return t
}

// number gives every subtree an interval. Subtree sizes are summed upwards,
// then children get intervals inside their parent's.
func (t *DomTree) number() {
	n := len(t.Order)
	for i := range n {
		t.end[i] = 1
	}
	for i := n - 1; i > 0; i-- {
		t.end[t.Parent[i]] += t.end[i]
	}
	next := make([]int32, n)
	next[0] = 1
	for i := 1; i < n; i++ {
		d := t.Parent[i]
		t.pre[i] = next[d]
		next[d] += t.end[i]
		next[i] = t.pre[i] + 1
	}
	for i := range n {
		t.end[i] += t.pre[i]
	}
}

// Backwards returns the successors of b, the last one first: reverse postorder follows the first
// branch first then.
func (b *Block) Backwards() []*Block {
	out := make([]*Block, len(b.Term.Succs))
	for i, e := range b.Term.Succs {
		out[len(out)-1-i] = e.To
	}
	return out
}
