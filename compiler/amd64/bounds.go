package amd64

import (
	"math"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// Checks. What fails ends the kernel: the code leaves in the context which check it
// was, for which lane, and the numbers, and returns. The paths to that are behind
// the kernel, so that checks that hold cost a comparison and a jump not taken.

// site notes a check and returns its number, from 1.
func (e *emitter) site(v *ir.Value, check devlog.Check, text string) int64 {
	e.sites = append(e.sites, image.Site{Check: check, Text: text, Pos: v.Pos})
	return int64(len(e.sites))
}

// later has code emitted behind the kernel, at a label that it returns.
func (e *emitter) later(code func()) label {
	l, pos := e.newLabel(), e.pos
	e.cold = append(e.cold, func() {
		e.depth = 0
		e.pos = pos
		e.bind(l)
		code()
	})
	return l
}

// fail emits what ends the kernel: the lane is in rax, the numbers in rcx and rdx.
func (e *emitter) fail(site int64) {
	e.op(asm.MOV, 64, ctxAt(image.CtxFaultLane), asm.R(asm.RAX))
	e.op(asm.MOV, 64, ctxAt(image.CtxFaultValues), asm.R(asm.RCX))
	e.op(asm.MOV, 64, ctxAt(image.CtxFaultValues+8), asm.R(asm.RDX))
	e.op(asm.MOV, 64, ctxAt(image.CtxFault), asm.I(site))
	e.jump(e.fault)
}

// unlessEachLane compares numbers that stand for all lanes, and has each lane looked at,
// out of the way, if they are as the condition says.
func (e *emitter) unlessEachLane(c asm.Cond, x asm.Reg, y asm.Arg, each func()) {
	back := e.newLabel()
	cold := e.later(func() {
		each()
		e.jump(back)
	})
	e.op(asm.CMP, 64, asm.R(x), y)
	e.jcc(c, cold)
	e.bind(back)
}

// boundsOfRow checks a constant index against lengths that go down from lane to lane, as
// those of slices do that begin where the lanes are: if that of the last lane is enough so
// are all. Else each lane is looked at. It reports false if there is no such code.
func (e *emitter) boundsOfRow(i, n *ir.Value, m asm.Reg, site int64) bool {
	index, fall := int64(i.Imm), -e.Of(n).Step
	most := index + fall*int64(e.isa.lanes()-1) // of lane 0 that is not enough
	if index < 0 || index > math.MaxInt32/2 || fall < 0 || fall > math.MaxInt16 || most != int64(int32(most)) {
		return false
	}
	e.unlessEachLane(asm.CondLE, e.general64(n), asm.I(most), func() { e.boundsOfLanes(i, n, m, site) })
	return true
}

// boundsOfLanes checks any indices.
func (e *emitter) boundsOfLanes(i, n *ir.Value, m asm.Reg, site int64) {
	x, y := e.wide64(i), e.wide64(n)
	bad := e.outside(x, y, m)
	cold := e.later(func() {
		e.firstLane(bad)
		e.op(e.moveOp(), e.width(), ctxAt(bufX), asm.R(half(x, 0)))
		e.op(e.moveOp(), e.width(), ctxAt(bufX+int32(e.bytes())), asm.R(half(x, 1)))
		e.op(e.moveOp(), e.width(), ctxAt(bufY), asm.R(half(y, 0)))
		e.op(e.moveOp(), e.width(), ctxAt(bufY+int32(e.bytes())), asm.R(half(y, 1)))
		e.op(asm.MOV, 64, asm.R(asm.RCX), slot(bufX, ir.I64))
		e.op(asm.MOV, 64, asm.R(asm.RDX), slot(bufY, ir.I64))
		e.fail(site)
	})
	e.jumpIfAny(bad, cold)
}

// outside returns the lanes of m for which 0 <= x < y does not hold.
func (e *emitter) outside(x, y val, m asm.Reg) asm.Reg {
	bad := e.mask()
	if e.isa == v4 {
		lo, hi := e.mask(), e.mask()
		const notBelow = 5
		e.masked(asm.VPCMPUQ, 512, m, false, asm.R(lo), asm.R(half(x, 0)), asm.R(half(y, 0)), asm.I(notBelow))
		e.masked(asm.VPCMPUQ, 512, e.highMask(m), false, asm.R(hi), asm.R(half(x, 1)), asm.R(half(y, 1)), asm.I(notBelow))
		e.op(asm.KUNPCKBW, 16, asm.R(bad), asm.R(hi), asm.R(lo))
		return bad
	}
	var in [2]asm.Reg
	for h := range in { // y > x, and x not negative
		neg, less := e.vec(), e.vec()
		in[h] = e.vec()
		e.op(asm.VPCMPGTQ, 256, asm.R(neg), asm.R(e.zero()), asm.R(half(x, h)))
		e.op(asm.VPCMPGTQ, 256, asm.R(less), asm.R(half(y, h)), asm.R(half(x, h)))
		e.op(asm.VPANDN, 256, asm.R(in[h]), asm.R(neg), asm.R(less))
	}
	e.maskAndNot(bad, m, e.packMask(in[0], in[1]))
	return bad
}

// firstLane puts the number of the first lane of m into rax.
func (e *emitter) firstLane(m asm.Reg) {
	e.bits(asm.RAX, m)
	e.op(asm.TZCNT, 32, asm.R(asm.RAX), asm.R(asm.RAX))
}

// reportValues puts up to two values of the lane in rax into rcx and rdx.
func (e *emitter) reportValues(values []*ir.Value) {
	buf, to := [2]int32{bufX, bufY}, [2]asm.Reg{asm.RCX, asm.RDX}
	for i, v := range values {
		if e.Of(v).Kind == analysis.UniformLanes {
			e.op(asm.MOV, 64, asm.R(to[i]), e.source64(v))
			continue
		}
		x := e.wide64(v)
		e.op(e.moveOp(), e.width(), ctxAt(buf[i]), asm.R(half(x, 0)))
		e.op(e.moveOp(), e.width(), ctxAt(buf[i]+int32(e.bytes())), asm.R(half(x, 1)))
		e.op(asm.MOV, 64, asm.R(to[i]), slot(buf[i], ir.I64))
	}
}
