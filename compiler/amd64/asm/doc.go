// Package asm has the instructions of x86-64 that the compiler emits: a table with
// a row for each form of each, an encoder, and a printer in Intel's syntax.
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
// The table is in the files rows_*.go. A row has what the manual (Intel 64, volume 2)
// says in its column of opcodes, in the same order: prefix, map, mandatory prefix,
// opcode, what is in ModRM.reg, W, and then widths and operands:
//
//	VFMADD231PS  EVEX.512.66.0F38.W0 B8 /r   zmm1 {k1}{z}, zmm2, zmm3/m512/m32bcst
//	{VFMADD231PS, both, m0F38, p66, 0xb8, slashR, w0, vl, f4, args{xV, sV, rmV}}
//
// Which prefix is taken follows from the operands: VEX of two bytes, VEX of three, or
// EVEX where a mask, a broadcast, 512 bits, a register above 15 or an operation that
// is AVX-512's alone needs it. Which level of x86-64 has an operation is for those to
// know that emit it.
package asm
