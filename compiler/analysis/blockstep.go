package analysis

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// BlockStep is by how much a number goes up from one block of threads to the next along x: Times
// By, or Times alone if By is nil.
type BlockStep struct {
	Times int64
	By    *ir.Value // the same in all blocks
}

// knownStep is a step, if it is known.
type knownStep struct {
	BlockStep
	known bool
}

func (s BlockStep) plus(t BlockStep, sign int64) (BlockStep, bool) {
	switch {
	case t.Times == 0:
		return s, true
	case s.Times == 0:
		return BlockStep{sign * t.Times, t.By}, true
	}
	return BlockStep{s.Times + sign*t.Times, s.By}, s.By == t.By
}

// BlockStep returns that of an index, if it is known. It is not where each thread has its own
// column: most often such blocks are few rows high, which hardware prefetchers follow. Blocks that
// divide their number by how many there are in a row are taken to have the next one in the same
// row.
func (s *Strides) BlockStep(index *ir.Value) (BlockStep, bool) {
	const operations = 12
	return s.blockStep(index, operations)
}

func (s *Strides) blockStep(v *ir.Value, depth int) (BlockStep, bool) {
	if x, is := s.steps[v]; is {
		return x.BlockStep, x.known
	}
	x, ok := s.newBlockStep(v, depth)
	s.steps[v] = knownStep{x, ok}
	return x, ok
}

func (s *Strides) newBlockStep(v *ir.Value, depth int) (BlockStep, bool) {
	var none BlockStep
	switch {
	case v.Op == ir.OpBlock && v.Imm == 0:
		return BlockStep{Times: 1}, true
	case v.Op == ir.OpBlock, v.Op == ir.OpConst, v.Op == ir.OpThread, v.Op == ir.OpBlockDim, v.Op == ir.OpGridDim, slices.Contains(s.lanes.Func.Params, v):
		return none, true
	case depth == 0 || len(v.Args) > 2 || !v.Op.Pure() && len(v.Args) > 0 && v.Op != ir.OpShflIdx:
		return none, false
	case len(v.Args) == 0:
		return s.firstStep(v, depth-1)
	}
	var of [2]BlockStep
	for k, x := range v.Args {
		step, ok := s.blockStep(x, depth-1)
		if !ok {
			return none, false
		}
		of[k] = step
	}
	x, factor := of[0], v.Args[len(v.Args)-1]
	if v.Op == ir.OpMul && x == none {
		x, factor = of[1], v.Args[0]
		of[1] = none
	}
	switch v.Op {
	case ir.OpAdd:
		return x.plus(of[1], 1)
	case ir.OpSub:
		return x.plus(of[1], -1)
	case ir.OpConvert, ir.OpShflIdx:
		return x, true
	}
	fixed := of[1] == none
	switch {
	case x == none && fixed:
		return none, true
	case !fixed || x.By != nil:
		return none, false
	}
	return s.scaled(v, x, factor)
}

// scaled is the step of v, a number with step x times or by a factor.
func (s *Strides) scaled(v *ir.Value, x BlockStep, factor *ir.Value) (BlockStep, bool) {
	switch {
	case v.Op == ir.OpMul && factor.IsConst():
		return BlockStep{Times: x.Times * int64(factor.Imm)}, true
	case v.Op == ir.OpMul && s.lanes.Of(factor).Kind == UniformLanes && factor.Op != ir.OpBlockDim:
		return BlockStep{x.Times, factor}, true
	case v.Op == ir.OpShl && factor.IsConst():
		return BlockStep{Times: x.Times << factor.Imm}, true
	case v.Op == ir.OpRem && x.Times == 1:
		return x, true
	case v.Op == ir.OpDiv && x.Times == 1:
		return BlockStep{}, true
	}
	return BlockStep{}, false
}

// firstStep is the step of a parameter of a loop's header: of what it begins with.
func (s *Strides) firstStep(v *ir.Value, depth int) (BlockStep, bool) {
	a := s.lanes
	for l := range a.Loops {
		h := &a.Blocks[a.Loops[l].First]
		p := slices.Index(h.Block.Params, v)
		for _, in := range h.In {
			if p >= 0 && in.From < h.At {
				return s.blockStep(a.Edge(in).Args[p], depth)
			}
		}
	}
	return BlockStep{}, false
}
