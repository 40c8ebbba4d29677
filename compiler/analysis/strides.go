package analysis

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// Strides says how indices go up in the loops of vector code, from iteration to iteration, and from
// a block of threads to the next one along x: prefetches are for what these access.
type Strides struct {
	lanes *Lanes
	of    map[*ir.Value]*Stride   // by induction variable
	walks map[*ir.Value]bool      // induction variables that go up by what there is of threads in a block or the grid
	steps map[*ir.Value]knownStep // from block to block
}

// Stride is by how much the induction variable of a loop goes up with each iteration.
type Stride struct {
	Of, By *ir.Value
	Bound  *ir.Value // what the loop's test compares with
	Grid   bool      // By has the number of threads in the grid as a factor, not of those in a block
	Loop   int
}

// StridesOf finds the loops over a grid that are for whole vectors, and such loops over a block
// that have an operation of which byLane is true: one done lane by lane, which takes long.
func StridesOf(a *Lanes, byLane func(*ir.Value) bool) *Strides {
	s := &Strides{lanes: a, of: map[*ir.Value]*Stride{}, walks: map[*ir.Value]bool{}, steps: map[*ir.Value]knownStep{}}
	for l := range a.Loops {
		x := &a.Loops[l]
		h := &a.Blocks[x.First]
		test := EndsInWhole(h.Block)
		if x.Back != 1 || test == nil {
			continue
		}
		within := test.Args[0]
		for p, v := range h.Block.Params {
			if within.Args[0] != v || a.Of(v).Kind != AffineLanes {
				continue
			}
			for _, in := range h.In {
				if by := addedTo(v, a.Edge(in).Args[p]); in.From >= x.First && by != nil {
					s.add(&Stride{Of: v, By: by, Bound: within.Args[1], Grid: hasFactor(by, ir.OpGridDim, productDepth), Loop: l}, byLane)
				}
			}
		}
	}
	return s
}

// productDepth is how deep products are looked into.
const productDepth = 4

// addedTo returns what is added to v if next is a sum with it, nil otherwise.
func addedTo(v, next *ir.Value) *ir.Value {
	switch {
	case next.Op != ir.OpAdd:
		return nil
	case next.Args[0] == v:
		return next.Args[1]
	case next.Args[1] == v:
		return next.Args[0]
	}
	return nil
}

// add adds a stride if it is one of a loop over the grid or of a long one over a block.
func (s *Strides) add(x *Stride, byLane func(*ir.Value) bool) {
	a, loop := s.lanes, &s.lanes.Loops[x.Loop]
	block := hasFactor(x.By, ir.OpBlockDim, productDepth)
	s.walks[x.Of] = x.Grid || block
	if a.Of(x.By).Kind == UniformLanes && (x.Grid || block && a.contains(loop, byLane)) && !loop.Has(a.Pos[x.By.Block.ID]) {
		s.of[x.Of] = x
	}
}

// contains reports whether a loop has an operation of which is is true.
func (g *Layout) contains(l *Span, is func(*ir.Value) bool) bool {
	for i := l.First; i <= l.Last; i++ {
		if slices.ContainsFunc(g.Blocks[i].Block.Instrs, is) {
			return true
		}
	}
	return false
}

// hasFactor reports whether v is what op says or a product with it.
func hasFactor(v *ir.Value, op ir.Op, depth int) bool {
	switch {
	case v.Op == op:
		return true
	case v.Op == ir.OpMul || v.Op == ir.OpShl:
		return depth > 0 && (hasFactor(v.Args[0], op, depth-1) || hasFactor(v.Args[1], op, depth-1))
	}
	return false
}

// GridSteps returns what loops over the grid go up by.
func (s *Strides) GridSteps() (list []*ir.Value) {
	for _, x := range s.of {
		if x.Grid {
			list = append(list, x.By)
		}
	}
	return list
}

// Of returns by what an index goes up in each iteration of the loop that it is used in, nil if that
// is not known: it is an induction variable, or one and what is the same in all lanes.
func (s *Strides) Of(index *ir.Value) *Stride {
	const terms = 2
	return s.strideOf(index, terms)
}

func (s *Strides) strideOf(v *ir.Value, depth int) *Stride {
	if x := s.of[v]; x != nil || depth == 0 || v.Op != ir.OpAdd {
		return x
	}
	for i, term := range v.Args {
		if s.lanes.Of(v.Args[1-i]).Kind == UniformLanes {
			if x := s.strideOf(term, depth-1); x != nil {
				return x
			}
		}
	}
	return nil
}

// Walks reports whether an index is a sum with an induction variable that goes up by the threads of
// a block or of the grid.
func (s *Strides) Walks(index *ir.Value) bool { return s.walksIn(index, maxTerms) }

// maxTerms is how deep sums are looked into.
const maxTerms = 4

func (s *Strides) walksIn(i *ir.Value, depth int) bool {
	return s.walks[i] || depth > 0 && (i.Op == ir.OpAdd || i.Op == ir.OpSub) && (s.walksIn(i.Args[0], depth-1) || s.walksIn(i.Args[1], depth-1))
}

// HasRows reports whether an index is a sum with a product of two numbers of the run time, as that
// of a row is with the length of rows.
func HasRows(index *ir.Value) bool { return hasRows(index, maxTerms) }

func hasRows(i *ir.Value, depth int) bool {
	switch {
	case i.Op == ir.OpMul:
		return !i.Args[0].IsConst() && !i.Args[1].IsConst()
	case depth > 0 && (i.Op == ir.OpAdd || i.Op == ir.OpSub):
		return hasRows(i.Args[0], depth-1) || hasRows(i.Args[1], depth-1)
	}
	return false
}
