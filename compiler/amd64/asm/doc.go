// Package asm has the instructions of x86-64 that the compiler emits: a table with
// a row for each, an encoder, and a printer in Intel's syntax.
//
// An [Inst] names an operation, a width and operands. Before registers are allocated
// operands are virtual registers; [Inst.RoleOf] says which an instruction reads and
// writes. Afterwards an [Assembler] makes bytes of them:
//
//	var a asm.Assembler
//	a.Block(0)
//	err := a.Inst(&asm.Inst{Op: asm.VADDPS, Width: 512, Args: [4]asm.Arg{asm.R(d), asm.R(x), asm.R(y)}})
//	code, marks, err := a.Finish(pool)
//
// Encodings are those of the Intel 64 manual, volume 2. Of the prefixes the shortest
// that will do is taken: VEX of two bytes, VEX of three, EVEX.
package asm
