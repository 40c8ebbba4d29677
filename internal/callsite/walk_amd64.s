#include "textflag.h"

// func walk(pcs *uintptr, n, skip int) int
TEXT ·walk(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ pcs+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ skip+16(FP), DX
	MOVQ BP, AX
	XORQ BX, BX
next:
	TESTQ AX, AX
	JZ   done
	MOVQ 8(AX), R8
	MOVQ (AX), AX
	SUBQ $1, DX
	JGE  next
	MOVQ R8, (DI)(BX*8)
	INCQ BX
	CMPQ BX, CX
	JLT  next
done:
	MOVQ BX, ret+24(FP)
	RET
