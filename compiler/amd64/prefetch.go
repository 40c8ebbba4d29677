package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// Loops over a grid, `i += t.GlobalSize()`, go from page to page: what they read next is
// never where the processor looks ahead by itself. So loads of whole vectors in them ask
// for what they read some turns later.

// turnsAhead is how many turns later. A turn takes some ten cycles, memory a few hundred.
const turnsAhead = 8

// stride is how a header's parameter goes on from turn to turn.
type stride struct {
	of, by *ir.Value
	loop   int
	n      *ir.Value // the bound that it has in the loop's test
	// asked are the memories that were asked for: what is near in one is near in cache.
	asked map[*ir.Value]bool
}

// findStrides finds the loops over a grid that are for whole vectors.
func (e *emitter) findStrides() {
	e.strides = map[*ir.Value]*stride{}
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
				if e.of(by).kind == uniform && overGrid(by, 4) && !x.has(e.graph.pos[by.Block.ID]) {
					e.strides[v] = &stride{of: v, by: by, loop: l, n: test.Args[1], asked: map[*ir.Value]bool{}}
				}
			}
		}
	}
}

// overGrid reports whether v is made of how many blocks there are.
func overGrid(v *ir.Value, depth int) bool {
	switch {
	case v.Op == ir.OpGridDim:
		return true
	case v.Op == ir.OpMul || v.Op == ir.OpShl:
		return depth > 0 && (overGrid(v.Args[0], depth-1) || overGrid(v.Args[1], depth-1))
	}
	return false
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
	skip := e.newLabel()
	i, by := e.general64(s.of), e.general64(s.by)
	e.op(asm.LEA, 64, asm.R(asm.RAX), asm.MX(i, by, turnsAhead, 0))
	e.op(asm.CMP, 64, asm.R(asm.RAX), e.source64(s.n))
	e.jcc(asm.CondGE, skip)
	if mem.Index != i {
		e.op(asm.LEA, 64, asm.R(asm.RAX), asm.MX(mem.Index, by, turnsAhead, 0))
	}
	mem.Index = asm.RAX
	e.op(asm.PREFETCHT0, 8, mem)
	e.bind(skip)
}
