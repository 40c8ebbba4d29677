package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/image"
)

// The part of the context that the driver leaves to the code.
const (
	ctxResume = image.CtxPrivate      // where the phase between two barriers began
	ctxThread = image.CtxPrivate + 8  // x of lane 0, y, z
	ctxVec    = image.CtxPrivate + 32 // number of the vector in the block
	ctxBuffer = 256                   // for what goes through memory: four times 128 bytes
)

// The registers that are set aside: rax, rcx and rdx are for sequences inside of
// one operation.
var (
	ctx   = asm.R15
	frame = asm.R14
)

func ctxAt(off int32) asm.Arg { return asm.M(ctx, off) }
