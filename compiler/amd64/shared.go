package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/image"
)

// sharedVectors returns how many vectors the shared memory of a block takes. What is
// behind it up to a whole vector belongs to nobody.
func (e *emitter) sharedVectors() int {
	size := 0
	for i, o := range e.m.Shared {
		if o.Dynamic {
			continue
		}
		size = max(size, int(e.shared[i])+o.Type.Size())
	}
	return (size + e.bytes() - 1) / e.bytes()
}

// fillShared sets the shared memory of a block to bytes 0xFF, as the interpreter does: what
// a kernel reads before it is written is not what an earlier block left there.
func (e *emitter) fillShared() {
	const unrolled = 8
	n, dynamic := e.sharedVectors(), e.m.Dynamic() != nil
	if n == 0 && !dynamic {
		return
	}
	ones := e.vec()
	e.op(e.moveOp(), e.width(), asm.R(ones), e.pool(sameWords(e.isa.lanes(), ^uint32(0))))
	e.op(asm.MOV, 64, asm.R(asm.RAX), ctxAt(image.CtxShared))
	again := e.newLabel()
	if n > unrolled {
		e.op(asm.MOV, 64, asm.R(asm.RCX), asm.I(int64(n/unrolled)))
		e.depth++
		e.bind(again)
		e.storeVectors(ones, unrolled)
		e.op(asm.ADD, 64, asm.R(asm.RAX), asm.I(int64(unrolled*e.bytes())))
		e.op(asm.SUB, 64, asm.R(asm.RCX), asm.I(1))
		e.jcc(asm.CondNE, again)
		e.depth--
		e.bind(e.newLabel())
		n %= unrolled
	}
	e.storeVectors(ones, n)
	if dynamic {
		e.fillDynamic(ones)
	}
}

// fillDynamic does the same to what the launch asks for, which begins at a
// multiple of a whole vector.
func (e *emitter) fillDynamic(ones asm.Reg) {
	again, done := e.newLabel(), e.newLabel()
	e.op(asm.MOV, 64, asm.R(asm.RAX), ctxAt(image.CtxShared))
	if at := e.shared[len(e.shared)-1]; at != 0 {
		e.op(asm.ADD, 64, asm.R(asm.RAX), asm.I(int64(at)))
	}
	e.op(asm.MOV, 64, asm.R(asm.RCX), ctxAt(image.CtxDynamic))
	e.op(asm.CMP, 64, asm.R(asm.RCX), asm.I(0))
	e.jcc(asm.CondE, done)
	e.depth++
	e.bind(again)
	e.storeVectors(ones, 1)
	e.op(asm.ADD, 64, asm.R(asm.RAX), asm.I(int64(e.bytes())))
	e.op(asm.SUB, 64, asm.R(asm.RCX), asm.I(1))
	e.jcc(asm.CondNE, again)
	e.depth--
	e.bind(done)
}

// storeVectors stores a register n times from rax on.
func (e *emitter) storeVectors(x asm.Reg, n int) {
	for i := range n {
		e.op(e.moveOp(), e.width(), asm.M(asm.RAX, int32(i*e.bytes())), asm.R(x))
	}
}
