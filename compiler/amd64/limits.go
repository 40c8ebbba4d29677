package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Checks of many indices by few comparisons. What they compare with is made of a length
// where that is, outside of loops that only use it.

// insideRow reports whether all lanes have indices below a constant that go up or down by a constant from
// lane to lane, which constants and the numbers of lanes tell.
func (e *emitter) insideRow(i, n *ir.Value) bool {
	if !n.IsConst() || e.Of(i).Kind != analysis.AffineLanes {
		return false
	}
	for _, lane := range []int64{0, int64(e.isa.lanes() - 1)} {
		if x, ok := ofLane(i, lane, laneOperations); !ok || x < 0 || x >= int64(n.Imm) {
			return false
		}
	}
	return true
}

// boundsInRow checks indices that go up or down by a constant from lane to lane: if the
// least is in range with the span above it so are all. Else each lane is looked at.
func (e *emitter) boundsInRow(i, n *ir.Value, m asm.Reg, site int64) {
	least := e.general64(i)
	if e.Of(i).Step < 0 {
		e.op(asm.LEA, 64, asm.R(asm.RAX), asm.M(least, -int32(e.span(i))))
		least = asm.RAX
	}
	e.unlessEachLane(asm.CondAE, least, e.limitOf(n, e.span(i)), func() { e.boundsOfLanes(i, n, m, site) })
}

// limitOf returns the operand for how many indices below n have the span above them.
func (e *emitter) limitOf(n *ir.Value, span int64) asm.Arg {
	if n.Op == ir.OpConst {
		if lim := max(int64(n.Imm)-span, 0); lim == int64(int32(lim)) {
			return asm.I(lim)
		}
	}
	if r := e.limits[limit{n: n, span: span}]; r != 0 {
		return asm.R(r)
	}
	r := e.gpr()
	e.newLimit(r, n, span)
	return asm.R(r)
}

func (e *emitter) newLimit(r asm.Reg, n *ir.Value, span int64) {
	e.op(asm.MOV, 32, asm.R(asm.RCX), asm.I(0))
	e.op(asm.MOV, 64, asm.R(r), e.source64(n))
	e.op(asm.SUB, 64, asm.R(r), asm.I(span))
	e.cmov(asm.CondL, r, asm.RCX)
}

// boundsOfShort checks integers of 32 bits: as unsigned ones, of which the negative are
// 2^31 or more, all have to be below a length that is cut down to that.
func (e *emitter) boundsOfShort(i, n *ir.Value, m asm.Reg, site int64) {
	x := e.vectors(i.Args[0]).reg[0]
	most := e.limits[limit{n: n, short: true}]
	if most == 0 {
		most = e.vec()
		e.newShort(most, n)
	}
	bad := e.mask()
	if e.isa == v4 {
		const notBelow = 5
		e.masked(asm.VPCMPUD, 512, m, false, asm.R(bad), asm.R(x), asm.R(most), asm.I(notBelow))
	} else {
		e.maskAnd(bad, m, e.vxx(asm.VPCMPEQD, e.vxx(asm.VPMAXUD, x, most), x))
	}
	back := e.newLabel()
	cold := e.later(func() {
		e.boundsOfLanes(i, n, m, site)
		e.jump(back)
	})
	e.jumpIfAny(bad, cold)
	e.bind(back)
}

func (e *emitter) newShort(r asm.Reg, n *ir.Value) {
	e.op(asm.MOV, 32, asm.R(asm.RAX), asm.I(-1<<31))
	x := e.gpr()
	e.op(asm.MOV, 64, asm.R(x), e.source64(n))
	e.op(asm.CMP, 64, asm.R(x), asm.R(asm.RAX))
	e.cmov(asm.CondA, x, asm.RAX)
	e.broadcastGeneral(r, x)
}

// findLimits marks what is compared with limits that are made where it is.
func (e *emitter) findLimits() {
	e.limited, e.limits = make([][]limit, len(e.Shapes)), map[limit]asm.Reg{}
	for i := range e.Blocks {
		for _, v := range e.Blocks[i].Block.Instrs {
			if v.Op != ir.OpBounds || v.Args[1].IsConst() {
				continue
			}
			l := limit{n: v.Args[1]}
			switch {
			case e.inRow(v):
				l.span = e.span(v.Args[0])
			case e.isShort(v):
				l.short = true
			default:
				continue
			}
			if _, is := e.limits[l]; !is {
				e.limits[l] = 0
				e.limited[l.n.ID] = append(e.limited[l.n.ID], l)
			}
		}
	}
}

// makeLimits makes those of n.
func (e *emitter) makeLimits(n *ir.Value) {
	for _, l := range e.limited[n.ID] {
		if l.short {
			e.limits[l] = e.vec()
			e.newShort(e.limits[l], n)
			continue
		}
		e.limits[l] = e.gpr()
		e.newLimit(e.limits[l], n, l.span)
	}
}
