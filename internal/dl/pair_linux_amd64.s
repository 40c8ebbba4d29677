//go:build !kiln_nogpu

#include "textflag.h"

DATA ·pairABI0(SB)/8, $pair(SB)
GLOBL ·pairABI0(SB), NOPTR|RODATA, $8

// int pair(Pair *p), by the System V calling convention: a C function, which the
// runtime calls on the thread's own stack. BX survives the calls; after its push
// the stack is aligned to 16 bytes, and stays so.
TEXT pair(SB), NOSPLIT|NOFRAME, $0-0
	PUSHQ BX
	MOVQ  DI, BX
	MOVQ  8(BX), DI
	MOVQ  0(BX), R11
	CALL  R11
	TESTL AX, AX
	JNE   done
	SUBQ  $48, SP
	MOVQ  72(BX), AX
	MOVQ  AX, 0(SP)
	MOVQ  80(BX), AX
	MOVQ  AX, 8(SP)
	MOVQ  88(BX), AX
	MOVQ  AX, 16(SP)
	MOVQ  96(BX), AX
	MOVQ  AX, 24(SP)
	MOVQ  104(BX), AX
	MOVQ  AX, 32(SP)
	MOVQ  24(BX), DI
	MOVQ  32(BX), SI
	MOVQ  40(BX), DX
	MOVQ  48(BX), CX
	MOVQ  56(BX), R8
	MOVQ  64(BX), R9
	MOVQ  16(BX), R11
	XORL  AX, AX
	CALL  R11
	ADDQ  $48, SP

done:
	POPQ BX
	RET
