// Package ptxas knows what NVIDIA's assembler gets wrong, for the emitters whose code
// it reads: ptxas is in the driver, in nvcc and behind NVRTC. Each fault was seen on
// hardware and can be reproduced with the assembler alone; the versions are those that
// were tried.
//
//   - A minimum or maximum of 32-bit integers whose operand is negated: of two such
//     operations ptxas 13.0 makes one, VIMNMX3, and forgets the negation. A comparison
//     and a selection (setp, selp) stay what they are when signed; unsigned ones become
//     a minimum again, unless they compare 64 bits.
//   - A 16-bit number that is negated (neg.s16, sub.s16 of 0, abs.s16) and then taken
//     as signed, be it widened, compared or shifted: ptxas 13.0 has 32768 where it is
//     -32768, because it leaves out that the negation wraps. Arithmetic of 32 bits and
//     cvt.s32.s16 is right.
//   - A magnitude (abs.s16, .s32, .s64): ptxas (12.8 to 13.5) takes it to be at least 0,
//     which that of the smallest number is not, and leaves out comparisons with zero. It
//     does not see one in a negation and a selection; optimisers make one of these.
//   - Logic on predicates: of and.pred and or.pred of the same two predicates ptxas (12.8
//     to 13.5) makes one instruction, PLOP3, with two results. Where it makes another one
//     of the second result and of what takes that, it reads the table of the first: of
//     (a|b)&^b it makes false where a&b is used, too. Written as ^(^a&^b), which leads to
//     no more instructions, a disjunction is right, and so is a selection on 32-bit
//     numbers.
//
// The conditions are about the IR. An emitter whose text an optimiser rewrites before
// ptxas sees it has to hide what it does from that one: in asm, which is read as it is.
//
//	if ptxas.Negated(v) { … }   // setp and selp instead of min
//	if ptxas.Disguised(v) { … } // operands that an optimiser knows nothing of
//
// tests/fuzz and tests/irconf look for these faults on a GPU.
package ptxas
