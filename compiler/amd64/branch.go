package amd64

import "github.com/gokiln/kiln/compiler/amd64/asm"

// whole emits one of two codes: for when all lanes are on, or not.
func (e *emitter) whole(m asm.Reg, all, some func()) {
	if m == 0 {
		all()
		return
	}
	other, done := e.newLabel(), e.newLabel()
	e.bits(asm.RAX, m)
	e.op(asm.CMP, 32, asm.R(asm.RAX), asm.I(0xff))
	e.jcc(asm.CondNE, other)
	all()
	e.jump(done)
	e.bind(other)
	some()
	e.bind(done)
}
