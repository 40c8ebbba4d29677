package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// faultCode is where all failures end: it notes which threads ran.
func (e *emitter) faultCode() {
	e.bind(e.fault)
	for i := range int32(3) {
		e.op(asm.MOV, 64, asm.R(asm.RAX), ctxAt(image.CtxBlock+8*i))
		e.op(asm.MOV, 64, ctxAt(image.CtxFaultBlock+8*i), asm.R(asm.RAX))
		e.op(asm.MOV, 64, asm.R(asm.RAX), ctxAt(ctxThread+8*i))
		e.op(asm.MOV, 64, ctxAt(image.CtxFaultThread+8*i), asm.R(asm.RAX))
	}
	if e.General {
		e.op(asm.MOV, 64, asm.R(asm.RAX), ctxAt(ctxVec))
		e.op(asm.SHL, 64, asm.R(asm.RAX), asm.I(int64(log2(e.isa.lanes()))))
		e.op(asm.MOV, 64, ctxAt(image.CtxFaultThread), asm.R(asm.RAX))
	}
	e.ret()
}

// bounds emits the check that 0 <= i < n.
func (e *emitter) bounds(b *analysis.Placed, v *ir.Value) {
	i, n := v.Args[0], v.Args[1]
	if e.insideRow(i, n) {
		return
	}
	site := e.site(v, devlog.Check(v.Imm), "")
	m := e.masks[b.Class]
	si, sn := e.Of(i), e.Of(n)
	switch {
	case si.Kind == analysis.UniformLanes && sn.Kind == analysis.UniformLanes:
		cold := e.later(func() {
			e.firstLane(m)
			e.op(asm.MOV, 64, asm.R(asm.RCX), e.source64(i))
			e.op(asm.MOV, 64, asm.R(asm.RDX), e.source64(n))
			e.fail(site)
		})
		e.compare64(i, n)
		e.jcc(asm.CondAE, cold)
	case e.inRow(v):
		e.boundsInRow(i, n, m, site)
	case e.isShort(v):
		e.boundsOfShort(i, n, m, site)
	case i.IsConst() && sn.Kind == analysis.AffineLanes && e.boundsOfRow(i, n, m, site):
	default:
		e.boundsOfLanes(i, n, m, site)
	}
}

// condition emits a check that x holds for all lanes. The other operands are values
// of the message.
func (e *emitter) condition(b *analysis.Placed, v *ir.Value, check devlog.Check, text string) error {
	site := e.site(v, check, text)
	m, x, values := e.masks[b.Class], v.Args[0], v.Args[1:]
	if e.Of(x).Kind == analysis.UniformLanes {
		cold := e.later(func() {
			e.firstLane(m)
			e.reportValues(values)
			e.fail(site)
		})
		return e.jumpUnless(x, cold)
	}
	bad := e.mask()
	e.maskAndNot(bad, m, e.maskOf(x))
	cold := e.later(func() {
		e.firstLane(bad)
		e.reportValues(values)
		e.fail(site)
	})
	e.jumpIfAny(bad, cold)
	return nil
}
