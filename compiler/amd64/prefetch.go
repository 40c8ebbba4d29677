package amd64

import (
	"github.com/gokiln/kiln/compiler/analysis"
	"slices"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// Loops over a grid, `i += t.GlobalSize()`, go from page to page: what they read next is
// never where the processor looks ahead by itself. Where the grid is small, and in loops
// over a block, it does, but not beyond a page, and too late if turns are long, as with
// atomic operations, which are done lane by lane. So loads of whole vectors in them ask for
// what is read some time later.

const (
	// turnsAhead is how many turns later. A turn takes some ten cycles, memory a few
	// hundred.
	turnsAhead = 8
	// nearAhead is how many elements later at least: turns by a vector or two are short.
	nearAhead = 512
	// bytesAhead is how much later it is in long loops over a block.
	bytesAhead = 2048
)

// stride is how a header's parameter goes on from turn to turn.
type stride struct {
	of, by *ir.Value
	grid   bool // by what there is of threads in the grid, not in the block
	loop   int
	n      *ir.Value // the bound that it has in the loop's test
	// asked are the memories that were asked for: what is near in one is near in cache.
	asked map[*ir.Value]bool
}

// findStrides finds the loops over a grid that are for whole vectors.
func (e *emitter) findStrides() {
	e.strides, e.leads = map[*ir.Value]*stride{}, map[*ir.Value]asm.Reg{}
	e.tiles, e.blockSteps, e.walks = map[tilePlace]bool{}, map[*ir.Value]knownStep{}, map[*ir.Value]bool{}
	for l := range e.Loops {
		x := &e.Loops[l]
		h := &e.Blocks[x.First]
		test := analysis.EndsInWhole(h.Block)
		if x.Back != 1 || test == nil {
			continue
		}
		within := test.Args[0]
		for p, v := range h.Block.Params {
			if within.Args[0] != v || e.Of(v).Kind != analysis.AffineLanes {
				continue
			}
			for _, in := range h.In {
				next := e.Layout.Edge(in).Args[p]
				if in.From < x.First || next.Op != ir.OpAdd || next.Args[0] != v && next.Args[1] != v {
					continue
				}
				by := next.Args[0]
				if by == v {
					by = next.Args[1]
				}
				grid := isMadeOf(by, ir.OpGridDim, 4)
				e.walks[v] = grid || isMadeOf(by, ir.OpBlockDim, 4)
				if e.Of(by).Kind == analysis.UniformLanes && (grid || e.isLong(x) && isMadeOf(by, ir.OpBlockDim, 4)) && !x.Has(e.Layout.Pos[by.Block.ID]) {
					e.strides[v] = &stride{of: v, by: by, grid: grid, loop: l, n: within.Args[1], asked: map[*ir.Value]bool{}}
					if grid {
						e.leads[by] = 0
					}
				}
			}
		}
	}
}

// isLong reports whether a loop does something lane by lane.
func (e *emitter) isLong(l *analysis.Span) bool {
	for i := l.First; i <= l.Last; i++ {
		for _, v := range e.Blocks[i].Block.Instrs {
			if _, counts := counts[v.Op]; counts {
				return true
			}
		}
	}
	return false
}

// isMadeOf reports whether v is a product of something and what op says.
func isMadeOf(v *ir.Value, op ir.Op, depth int) bool {
	switch {
	case v.Op == op:
		return true
	case v.Op == ir.OpMul || v.Op == ir.OpShl:
		return depth > 0 && (isMadeOf(v.Args[0], op, depth-1) || isMadeOf(v.Args[1], op, depth-1))
	}
	return false
}

// newLead returns the register for how many elements later something is read in loops
// that go on by v: turnsAhead turns, or nearAhead.
func (e *emitter) newLead(v *ir.Value) asm.Reg {
	r := e.gpr()
	e.op(asm.MOV, 64, asm.R(r), e.source64(v))
	e.op(asm.SHL, 64, asm.R(r), asm.I(int64(log2(turnsAhead))))
	e.op(asm.MOV, 32, asm.R(asm.RAX), asm.I(nearAhead))
	e.op(asm.CMP, 64, asm.R(r), asm.R(asm.RAX))
	e.cmov(asm.CondL, r, asm.RAX)
	return r
}

// strideOf returns by what v goes on in each turn of the loop it is used in, nil if that
// is not known.
func (e *emitter) strideOf(v *ir.Value, depth int) *stride {
	if s := e.strides[v]; s != nil || depth == 0 || v.Op != ir.OpAdd {
		return s
	}
	for i, x := range v.Args {
		if e.Of(v.Args[1-i]).Kind == analysis.UniformLanes {
			if s := e.strideOf(x, depth-1); s != nil {
				return s
			}
		}
	}
	return nil
}

// ahead asks for what a load through p, of whole vectors at mem, reads some turns later.
func (e *emitter) ahead(b *analysis.Placed, p *ir.Value, mem asm.Arg) {
	if !e.lazy[p.ID] || isDisp(p) || mem.Index == 0 || p.Type.Space != ir.Global {
		return
	}
	s := e.strideOf(p.Args[1], 2)
	if s == nil || b.Loop != s.loop || s.asked[p.Args[0]] {
		return
	}
	s.asked[p.Args[0]] = true
	if !s.grid {
		e.op(asm.PREFETCHT0, 8, shifted(mem, bytesAhead))
		return
	}
	lead, i := e.leads[s.by], e.general64(s.of)
	ask, skip := e.newLabel(), e.newLabel()
	e.op(asm.CMP, 64, asm.R(lead), asm.I(nearAhead))
	e.jcc(asm.CondE, ask) // it is near what is read now, whatever it is for
	e.op(asm.LEA, 64, asm.R(asm.RAX), asm.MX(i, lead, 1, 0))
	e.op(asm.CMP, 64, asm.R(asm.RAX), e.source64(s.n))
	e.jcc(asm.CondGE, skip)
	e.bind(ask)
	e.op(asm.LEA, 64, asm.R(asm.RAX), asm.MX(mem.Index, lead, 1, 0))
	mem.Index = asm.RAX
	e.op(asm.PREFETCHT0, 8, mem)
	e.bind(skip)
}

// A block that works on a tile of a grid reads and writes a short piece of many rows, more streams
// than a hardware prefetcher follows. The next block along x has the pieces behind those, so
// accesses of one block prefetch for the next.

// maxTile bounds how many bytes wide the tiles are; of wider ones processors look ahead in
// each row.
const maxTile = 1024

// tilePlace is where a prefetch was emitted: one for each memory and basic block.
type tilePlace struct {
	of *ir.Value
	at int
}

// nextTile prefetches, by instruction op, what the next block along x accesses where this one
// accesses a whole vector through p, at mem.
func (e *emitter) nextTile(b *analysis.Placed, p *ir.Value, mem asm.Arg, op asm.Op) {
	if !isPath(p) || isDisp(p) || p.Type.Space != ir.Global || !hasRows(p.Args[1], 4) {
		return
	}
	step, ok := e.blockStep(p.Args[1], 12)
	size := int64(p.Type.Elem.Size())
	place := tilePlace{p.Args[0], b.At}
	if n := step.times * size; !ok || n <= 0 || n > maxTile || step.by == nil && n <= size || step.by != nil && n != size || e.tiles[place] {
		return
	}
	if step.by != nil && e.goesOn(p.Args[1], 4) {
		return // it may be any length that the block goes along, such as a part of a row
	}
	e.tiles[place] = true
	if step.by == nil {
		e.op(op, 8, shifted(mem, int32(step.times*size)))
		return
	}
	e.op(asm.LEA, 64, asm.R(asm.RAX), mem)
	e.op(op, 8, asm.MX(asm.RAX, e.general64(step.by), uint8(size), 0))
}

// goesOn reports whether index i is a sum with what loops go on with by the threads of a block or
// grid.
func (e *emitter) goesOn(i *ir.Value, depth int) bool {
	return e.walks[i] || depth > 0 && (i.Op == ir.OpAdd || i.Op == ir.OpSub) && (e.goesOn(i.Args[0], depth-1) || e.goesOn(i.Args[1], depth-1))
}

// hasRows reports whether index i is a sum with a product of two numbers of the run time, as
// that of a row is with the length of rows.
func hasRows(i *ir.Value, depth int) bool {
	switch {
	case i.Op == ir.OpMul:
		return !i.Args[0].IsConst() && !i.Args[1].IsConst()
	case depth > 0 && (i.Op == ir.OpAdd || i.Op == ir.OpSub):
		return hasRows(i.Args[0], depth-1) || hasRows(i.Args[1], depth-1)
	}
	return false
}

// blockStep is by how much a number goes up from block to block along x: times by, or times
// alone if by is nil.
type blockStep struct {
	times int64
	by    *ir.Value // the same in all blocks
}

func (s blockStep) plus(t blockStep, sign int64) (blockStep, bool) {
	switch {
	case t.times == 0:
		return s, true
	case s.times == 0:
		return blockStep{sign * t.times, t.by}, true
	}
	return blockStep{s.times + sign*t.times, s.by}, s.by == t.by
}

// blockStep returns that of v, if it is known. It is not where each thread has its own column:
// most often such blocks are few rows high, which hardware prefetchers follow. Blocks that divide
// their number by how many there are in a row are taken to have the next one in the same row.
func (e *emitter) blockStep(v *ir.Value, depth int) (blockStep, bool) {
	if s, is := e.blockSteps[v]; is {
		return s.blockStep, s.known
	}
	s, ok := e.newBlockStep(v, depth)
	e.blockSteps[v] = knownStep{s, ok}
	return s, ok
}

// knownStep is a step, if it is known.
type knownStep struct {
	blockStep
	known bool
}

func (e *emitter) newBlockStep(v *ir.Value, depth int) (blockStep, bool) {
	var none blockStep
	switch {
	case v.Op == ir.OpBlock && v.Imm == 0:
		return blockStep{times: 1}, true
	case v.Op == ir.OpBlock, v.Op == ir.OpConst, v.Op == ir.OpThread, v.Op == ir.OpBlockDim, v.Op == ir.OpGridDim, slices.Contains(e.Layout.Func.Params, v):
		return none, true
	case depth == 0 || len(v.Args) > 2 || !v.Op.Pure() && len(v.Args) > 0 && v.Op != ir.OpShflIdx:
		return none, false
	case len(v.Args) == 0:
		return e.firstStep(v, depth-1)
	}
	var of [2]blockStep
	for k, x := range v.Args {
		s, ok := e.blockStep(x, depth-1)
		if !ok {
			return none, false
		}
		of[k] = s
	}
	x, factor := of[0], v.Args[len(v.Args)-1]
	if v.Op == ir.OpMul && x == none {
		x, factor = of[1], v.Args[0]
		of[1] = none
	}
	fixed := of[1] == none
	switch v.Op {
	case ir.OpAdd:
		return x.plus(of[1], 1)
	case ir.OpSub:
		return x.plus(of[1], -1)
	case ir.OpConvert, ir.OpShflIdx:
		return x, true
	}
	switch {
	case x == none && fixed:
		return none, true
	case !fixed || x.by != nil:
		return none, false
	case v.Op == ir.OpMul && factor.IsConst():
		return blockStep{times: x.times * int64(factor.Imm)}, true
	case v.Op == ir.OpMul && e.Of(factor).Kind == analysis.UniformLanes && factor.Op != ir.OpBlockDim:
		return blockStep{x.times, factor}, true
	case v.Op == ir.OpShl && factor.IsConst():
		return blockStep{times: x.times << factor.Imm}, true
	case v.Op == ir.OpRem && x.times == 1:
		return x, true
	case v.Op == ir.OpDiv && x.times == 1:
		return none, true
	}
	return none, false
}

// firstStep is blockStep of a parameter of a loop's header: of what it begins with.
func (e *emitter) firstStep(v *ir.Value, depth int) (blockStep, bool) {
	for l := range e.Loops {
		h := &e.Blocks[e.Loops[l].First]
		p := slices.Index(h.Block.Params, v)
		for _, in := range h.In {
			if p >= 0 && in.From < h.At {
				return e.blockStep(e.Layout.Edge(in).Args[p], depth)
			}
		}
	}
	return blockStep{}, false
}
