package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// What is prefetched follows from [analysis.Strides]; here are the distances, which are numbers of
// processors, and the instructions.
//
// Loops over a grid, `i += t.GlobalSize()`, go from page to page: what they read next is never
// where a hardware prefetcher looks. Where the grid is small, and in loops over a block, it does,
// but not beyond a page, and too late if iterations are long, as with atomic operations, which are
// done lane by lane. So loads of whole vectors in them prefetch what is read some time later.
//
// A block that works on a tile of a grid reads and writes a short piece of many rows, more streams
// than a hardware prefetcher follows. The next block along x has the pieces behind those, so
// accesses of one block prefetch for the next.

const (
	// iterationsAhead is how many iterations later. One takes some ten cycles, memory a few
	// hundred.
	iterationsAhead = 8
	// nearAhead is how many elements later at least: iterations by a vector or two are short.
	nearAhead = 512
	// bytesAhead is how much later it is in long loops over a block.
	bytesAhead = 2048
	// maxTile bounds how many bytes wide the tiles are; in wider ones hardware prefetchers follow
	// each row.
	maxTile = 1024
)

func (e *emitter) newPrefetches() prefetches {
	p := prefetches{leads: map[*ir.Value]asm.Reg{}, streams: map[stream]bool{}, tiles: map[tile]bool{}}
	p.strides = analysis.StridesOf(e.Lanes, func(v *ir.Value) bool { _, is := counts[v.Op]; return is })
	for _, by := range p.strides.GridSteps() {
		p.leads[by] = 0
	}
	return p
}

// newLead returns the register for how many elements later something is read in loops
// that go up by v: iterationsAhead iterations, or nearAhead.
func (e *emitter) newLead(v *ir.Value) asm.Reg {
	r := e.gpr()
	e.op(asm.MOV, 64, asm.R(r), e.source64(v))
	e.op(asm.SHL, 64, asm.R(r), asm.I(int64(log2(iterationsAhead))))
	e.op(asm.MOV, 32, asm.R(asm.RAX), asm.I(nearAhead))
	e.op(asm.CMP, 64, asm.R(r), asm.R(asm.RAX))
	e.cmov(asm.CondL, r, asm.RAX)
	return r
}

// prefetchAhead prefetches what a load through p, of whole vectors at mem, reads some iterations
// later.
func (e *emitter) prefetchAhead(b *analysis.Placed, p *ir.Value, mem asm.Arg) {
	if !e.lazy[p.ID] || isDisp(p) || mem.Index == 0 || p.Type.Space != ir.Global {
		return
	}
	s := e.prefetched.strides.Of(p.Args[1])
	of := stream{s, p.Args[0]}
	if s == nil || b.Loop != s.Loop || e.prefetched.streams[of] {
		return
	}
	e.prefetched.streams[of] = true
	if !s.Grid {
		e.op(asm.PREFETCHT0, 8, shifted(mem, bytesAhead))
		return
	}
	lead, i := e.prefetched.leads[s.By], e.general64(s.Of)
	fetch, skip := e.newLabel(), e.newLabel()
	e.op(asm.CMP, 64, asm.R(lead), asm.I(nearAhead))
	e.jcc(asm.CondE, fetch) // it is near what is read now, whatever it is for
	e.op(asm.LEA, 64, asm.R(asm.RAX), asm.MX(i, lead, 1, 0))
	e.op(asm.CMP, 64, asm.R(asm.RAX), e.source64(s.Bound))
	e.jcc(asm.CondGE, skip)
	e.bind(fetch)
	e.op(asm.LEA, 64, asm.R(asm.RAX), asm.MX(mem.Index, lead, 1, 0))
	mem.Index = asm.RAX
	e.op(asm.PREFETCHT0, 8, mem)
	e.bind(skip)
}

// prefetchNextTile prefetches, by instruction op, what the next block along x accesses where this
// one accesses a whole vector through p, at mem.
func (e *emitter) prefetchNextTile(b *analysis.Placed, p *ir.Value, mem asm.Arg, op asm.Op) {
	if !isPath(p) || isDisp(p) || p.Type.Space != ir.Global || !analysis.HasRows(p.Args[1]) {
		return
	}
	step, ok := e.prefetched.strides.BlockStep(p.Args[1])
	size := int64(p.Type.Elem.Size())
	of := tile{p.Args[0], b.At}
	if n := step.Times * size; !ok || n <= 0 || n > maxTile || step.By == nil && n <= size || step.By != nil && n != size || e.prefetched.tiles[of] {
		return
	}
	if step.By != nil && e.prefetched.strides.Walks(p.Args[1]) {
		return // it may be any length that the block goes along, such as a part of a row
	}
	e.prefetched.tiles[of] = true
	if step.By == nil {
		e.op(op, 8, shifted(mem, int32(step.Times*size)))
		return
	}
	e.op(asm.LEA, 64, asm.R(asm.RAX), mem)
	e.op(op, 8, asm.MX(asm.RAX, e.general64(step.By), uint8(size), 0))
}

// counts has the operations on memory that are one instruction if nobody wants the
// value that was there.
var counts = map[ir.Op]asm.Op{
	ir.OpAtomicAdd: asm.ADD, ir.OpAtomicAnd: asm.AND, ir.OpAtomicOr: asm.OR, ir.OpAtomicXor: asm.XOR,
}
