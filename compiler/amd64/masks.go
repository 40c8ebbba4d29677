package amd64

import "github.com/gokiln/kiln/compiler/amd64/asm"

// The sets of lanes.

func (e *code) clearMask(m asm.Reg) {
	e.op(asm.UNDEF, e.width(), asm.R(m))
	if e.isa == v3 {
		e.op(asm.VPXOR, 256, asm.R(m), asm.R(m), asm.R(m))
		return
	}
	e.op(asm.KXORW, 16, asm.R(m), asm.R(m), asm.R(m))
}

func (e *code) maskAnd(d, a, b asm.Reg) {
	if e.isa == v3 {
		e.op(asm.VPAND, 256, asm.R(d), asm.R(a), asm.R(b))
		return
	}
	e.op(asm.KANDW, 16, asm.R(d), asm.R(a), asm.R(b))
}

// maskAndNot sets d to the lanes of a that are not in b.
func (e *code) maskAndNot(d, a, b asm.Reg) {
	if e.isa == v3 {
		e.op(asm.VPANDN, 256, asm.R(d), asm.R(b), asm.R(a))
		return
	}
	e.op(asm.KANDNW, 16, asm.R(d), asm.R(b), asm.R(a))
}

// maskOr adds lanes to d, or sets d to them.
func (e *code) maskOr(d, lanes asm.Reg, set bool) {
	switch {
	case set:
		e.copy(d, lanes)
	case e.isa == v3:
		e.op(asm.VPOR, 256, asm.R(d), asm.R(d), asm.R(lanes))
	default:
		e.op(asm.KORW, 16, asm.R(d), asm.R(d), asm.R(lanes))
	}
}

// testMask sets the flags: equal if no lane is in m.
func (e *code) testMask(m asm.Reg) {
	if e.isa == v3 {
		e.op(asm.VPTEST, 256, asm.R(m), asm.R(m))
		return
	}
	e.op(asm.KORTESTW, 16, asm.R(m), asm.R(m))
}

func (e *emitter) jumpIfEmpty(m asm.Reg, to label) {
	e.testMask(m)
	e.jcc(asm.CondE, to)
}

func (e *emitter) jumpIfAny(m asm.Reg, to label) {
	e.testMask(m)
	e.jcc(asm.CondNE, to)
}

// bits puts the lanes of a mask into the low bits of a general register.
func (e *code) bits(d, m asm.Reg) {
	if e.isa == v3 {
		e.op(asm.VMOVMSKPS, 256, asm.R(d), asm.R(m))
		return
	}
	e.op(asm.KMOVW, 32, asm.R(d), asm.R(m))
}

// firstLanes sets m to as many lanes as register n says, all if it says more. It
// changes rax and n.
func (e *emitter) firstLanes(m, n asm.Reg) {
	w := int64(e.isa.lanes())
	e.op(asm.MOV, 32, asm.R(asm.RAX), asm.I(w))
	e.op(asm.CMP, 64, asm.R(n), asm.R(asm.RAX))
	e.cmov(asm.CondA, n, asm.RAX)
	if e.isa == v3 {
		v := e.vec()
		e.op(asm.VMOVD, 128, asm.R(v), asm.R(n))
		e.op(asm.VPBROADCASTD, 256, asm.R(v), asm.R(v))
		e.op(asm.VPCMPGTD, 256, asm.R(m), asm.R(v), e.pool(iotaWords(8, 1)))
		return
	}
	e.op(asm.MOV, 32, asm.R(asm.RAX), asm.I(-1))
	e.op(asm.BZHI, 32, asm.R(asm.RAX), asm.R(asm.RAX), asm.R(n))
	e.op(asm.KMOVW, 32, asm.R(m), asm.R(asm.RAX))
}
