package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/image"
)

// The frame of the code around the kernel: it runs the vectors of threads of a
// block, block after block.
//
//	entry:  take the context, load the arguments
//	block:  fill the shared memory, start with the first vector
//	body:   the kernel for one vector
//	end:    next vector; next block; return
//
// In a kernel with barriers every vector has a frame of its own, in which all that
// it needs later lies while others run. At a barrier control goes to the next
// vector, to the point where the phase began; from the last vector it goes on with
// the first, behind the barrier.

// entryCode emits what comes before the kernel.
func (e *emitter) entryCode() {
	e.op(asm.MOV, 64, asm.R(ctx), asm.R(asm.RDI))
	e.op(asm.MOV, 64, asm.R(frame), ctxAt(image.CtxFrames))
	e.enterTiles()
	if !e.barriers {
		e.loadParams()
	}
	e.bind(e.blockStart)
	e.fillShared()
	e.firstVector()
	if e.barriers {
		e.call(e.setResume)
	}
	e.bind(e.body)
	if e.barriers {
		e.loadParams()
	}
	e.entryMask()
	e.loadLanesToTake()
}

// firstVector sets the context to the first vector of a block.
func (e *emitter) firstVector() {
	if e.barriers {
		e.op(asm.MOV, 64, asm.R(frame), ctxAt(image.CtxFrames))
	}
	e.op(asm.XOR, 32, asm.R(asm.RAX), asm.R(asm.RAX))
	for i := range int32(3) {
		e.op(asm.MOV, 64, ctxAt(ctxThread+8*i), asm.R(asm.RAX))
	}
	e.op(asm.MOV, 64, ctxAt(ctxVec), asm.R(asm.RAX))
}

// entryMask makes the mask of the lanes of a vector that have a thread.
func (e *emitter) entryMask() {
	m := e.masks[0]
	w := e.isa.lanes()
	if e.General {
		// threads left = x*y*z of the block - vector*w
		e.op(asm.MOV, 64, asm.R(asm.RCX), ctxAt(image.CtxBlockDim))
		e.op(asm.IMUL, 64, asm.R(asm.RCX), ctxAt(image.CtxBlockDim+8))
		e.op(asm.IMUL, 64, asm.R(asm.RCX), ctxAt(image.CtxBlockDim+16))
		e.op(asm.MOV, 64, asm.R(asm.RAX), ctxAt(ctxVec))
		e.op(asm.SHL, 64, asm.R(asm.RAX), asm.I(int64(log2(w))))
	} else {
		e.op(asm.MOV, 64, asm.R(asm.RCX), ctxAt(image.CtxBlockDim))
		e.op(asm.MOV, 64, asm.R(asm.RAX), ctxAt(ctxThread))
	}
	e.op(asm.SUB, 64, asm.R(asm.RCX), asm.R(asm.RAX))
	e.firstLanes(m, asm.RCX)
}

// advance goes to the next vector of the block, or to the label if there is none.
func (e *emitter) advance(done label) {
	w := int64(e.isa.lanes())
	e.op(asm.MOV, 64, asm.R(asm.RAX), ctxAt(ctxVec))
	e.op(asm.ADD, 64, asm.R(asm.RAX), asm.I(1))
	e.op(asm.MOV, 64, ctxAt(ctxVec), asm.R(asm.RAX))
	e.op(asm.CMP, 64, asm.R(asm.RAX), ctxAt(image.CtxVectors))
	e.jcc(asm.CondAE, done)
	if e.General {
		return
	}
	next := e.newLabel()
	e.op(asm.MOV, 64, asm.R(asm.RAX), ctxAt(ctxThread))
	e.op(asm.ADD, 64, asm.R(asm.RAX), asm.I(w))
	e.op(asm.MOV, 64, ctxAt(ctxThread), asm.R(asm.RAX))
	e.op(asm.CMP, 64, asm.R(asm.RAX), ctxAt(image.CtxBlockDim))
	e.jcc(asm.CondB, next)
	e.count(ctxThread, image.CtxBlockDim, next)
	e.bind(next)
}

// count sets the first of three counters to 0 and counts up those behind it, each
// below its limit, except the last.
func (e *emitter) count(counter, limit int32, done label) {
	e.op(asm.XOR, 32, asm.R(asm.RAX), asm.R(asm.RAX))
	e.op(asm.MOV, 64, ctxAt(counter), asm.R(asm.RAX))
	e.op(asm.MOV, 64, asm.R(asm.RCX), ctxAt(counter+8))
	e.op(asm.ADD, 64, asm.R(asm.RCX), asm.I(1))
	e.op(asm.MOV, 64, ctxAt(counter+8), asm.R(asm.RCX))
	e.op(asm.CMP, 64, asm.R(asm.RCX), ctxAt(limit+8))
	e.jcc(asm.CondB, done)
	e.op(asm.MOV, 64, ctxAt(counter+8), asm.R(asm.RAX))
	e.op(asm.ADD, 64, ctxAt(counter+16), asm.I(1))
}

// exitCode emits what comes after the kernel.
func (e *emitter) exitCode() {
	e.depth, e.pos = 1, 0
	blockDone, next := e.newLabel(), e.newLabel()
	e.bind(e.end)
	e.advance(blockDone)
	if e.barriers {
		e.op(asm.ADD, 64, asm.R(frame), asm.I(frameSize))
		e.op(asm.JMP, 64, ctxAt(ctxResume))
	} else {
		e.jump(e.body)
	}
	e.depth = 0
	e.bind(blockDone)
	e.op(asm.SUB, 64, ctxAt(image.CtxBlocks), asm.I(1))
	e.jcc(asm.CondE, e.leave)
	e.op(asm.MOV, 64, asm.R(asm.RAX), ctxAt(image.CtxBlock))
	e.op(asm.ADD, 64, asm.R(asm.RAX), asm.I(1))
	e.op(asm.MOV, 64, ctxAt(image.CtxBlock), asm.R(asm.RAX))
	e.op(asm.CMP, 64, asm.R(asm.RAX), ctxAt(image.CtxGridDim))
	e.jcc(asm.CondB, next)
	e.count(image.CtxBlock, image.CtxGridDim, next)
	e.bind(next)
	e.jump(e.blockStart)
	e.bind(e.leave)
	e.ret()
	if e.barriers {
		e.barrierCode()
	}
}

// barrierCode emits what a barrier calls: to the next vector, or from the last one
// on with the first. The return address is where the next phase begins.
func (e *emitter) barrierCode() {
	last := e.newLabel()
	e.bind(e.meet)
	e.op(asm.POP, 64, asm.R(asm.RDX))
	e.advance(last)
	e.op(asm.ADD, 64, asm.R(frame), asm.I(frameSize))
	e.op(asm.JMP, 64, ctxAt(ctxResume))
	e.bind(last)
	e.op(asm.MOV, 64, ctxAt(ctxResume), asm.R(asm.RDX))
	e.firstVector()
	e.op(asm.JMP, 64, asm.R(asm.RDX))
	e.bind(e.setResume)
	e.op(asm.POP, 64, asm.R(asm.RDX))
	e.op(asm.MOV, 64, ctxAt(ctxResume), asm.R(asm.RDX))
	e.op(asm.JMP, 64, asm.R(asm.RDX))
}

// loadParams loads the arguments of the kernel. They stay where they are, so that a
// register which is needed for something else can be loaded again.
func (e *emitter) loadParams() {
	offsets, _ := e.Layout.Func.ParamOffsets()
	base := e.gpr()
	e.op(asm.MOV, 64, asm.R(base), ctxAt(image.CtxArgs))
	for i, p := range e.Layout.Func.Params {
		if e.used[p.ID] {
			e.vals[p.ID] = e.loadSame(p.Type, asm.M(base, int32(offsets[i])))
			e.spread(p)
		}
	}
}
