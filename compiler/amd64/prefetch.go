package amd64

import (
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
	for l := range e.loops {
		x := &e.loops[l]
		h := &e.blocks[x.first]
		if x.back != 1 || !e.isTest(h.b) {
			continue
		}
		test := h.b.Term.Args[0]
		for p, v := range h.b.Params {
			if test.Args[0] != v || e.of(v).kind != affine {
				continue
			}
			for _, in := range h.in {
				next := e.graph.edge(in).Args[p]
				if in.from < x.first || next.Op != ir.OpAdd || next.Args[0] != v && next.Args[1] != v {
					continue
				}
				by := next.Args[0]
				if by == v {
					by = next.Args[1]
				}
				grid := isMadeOf(by, ir.OpGridDim, 4)
				if e.of(by).kind == uniform && (grid || e.isLong(x) && isMadeOf(by, ir.OpBlockDim, 4)) && !x.has(e.graph.pos[by.Block.ID]) {
					e.strides[v] = &stride{of: v, by: by, grid: grid, loop: l, n: test.Args[1], asked: map[*ir.Value]bool{}}
					if grid {
						e.leads[by] = 0
					}
				}
			}
		}
	}
}

// isLong reports whether a loop does something lane by lane.
func (e *emitter) isLong(l *loop) bool {
	for i := l.first; i <= l.last; i++ {
		for _, v := range e.blocks[i].b.Instrs {
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
		if e.of(v.Args[1-i]).kind == uniform {
			if s := e.strideOf(x, depth-1); s != nil {
				return s
			}
		}
	}
	return nil
}

// ahead asks for what a load through p, of whole vectors at mem, reads some turns later.
func (e *emitter) ahead(b *block, p *ir.Value, mem asm.Arg) {
	if !e.lazy[p.ID] || isDisp(p) || mem.Index == 0 || p.Type.Space != ir.Global {
		return
	}
	s := e.strideOf(p.Args[1], 2)
	if s == nil || b.loop != s.loop || s.asked[p.Args[0]] {
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
