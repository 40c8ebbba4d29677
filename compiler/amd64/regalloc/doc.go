// Package regalloc gives machine registers to the virtual registers of code
// for amd64: a linear scan over live intervals with holes, which splits them.
//
// The model, in the order of the work:
//
//   - Instructions are numbered in code order; number k reads at position 2k and
//     writes at 2k+1. Every basic block has one number of its own before its first
//     instruction, so that its start differs from the end of the block before.
//   - Liveness by dataflow gives each virtual register a list of ranges. A register
//     may have many definitions.
//   - Registers joined by a COPY become one where neither is written while the
//     other is live; two-address code and loop-carried values lose their moves here.
//     Where another operand could be the first, the one that ends here is taken.
//   - The scan goes through the intervals by start. Under pressure the interval
//     that costs least to put into the frame goes: how often the code runs (10 to
//     the depth) where it would be stored and loaded again, by the stretch until
//     then. Stores and loads move out of the loops that do not use the value.
//     BARRIER and CALL put all that lives across them into the frame.
//   - Between the parts of an interval, and on edges of the graph, moves are put in.
//     An operand may stay in the frame where the instruction can read memory. What
//     only has a constant, or an instruction of Func.Remat that leaves the flags
//     alone, is made again instead of kept.
//
// A caller sets up code with virtual registers and says what there is:
//
//	res, err := regalloc.Run(f, regalloc.V4(frameOffset))
//
// [Check] proves a result by symbolic execution; [RunChecked] does both.
package regalloc
