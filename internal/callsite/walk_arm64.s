#include "textflag.h"

// func walk(pcs *uintptr, n, skip int) int
TEXT ·walk(SB), NOSPLIT|NOFRAME, $0-32
	MOVD pcs+0(FP), R0
	MOVD n+8(FP), R1
	MOVD skip+16(FP), R2
	MOVD R29, R3
	MOVD ZR, R4
next:
	CBZ  R3, done
	MOVD 8(R3), R5
	MOVD (R3), R3
	SUBS $1, R2, R2
	BGE  next
	MOVD R5, (R0)(R4<<3)
	ADD  $1, R4
	CMP  R1, R4
	BLT  next
done:
	MOVD R4, ret+24(FP)
	RET
