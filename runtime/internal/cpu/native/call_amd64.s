#include "textflag.h"

// func enter(code, ctx uintptr)
//
// The assembler saves BP in the frame and takes it from there at the end: native
// code may change every register but SP.
TEXT ·enter(SB), NOSPLIT, $8-16
	MOVQ code+0(FP), AX
	MOVQ ctx+8(FP), DI
	CALL AX
	RET

// func pause()
TEXT ·pause(SB), NOSPLIT, $0-0
	PAUSE
	RET
