// Package msl writes Metal Shading Language for Apple's GPUs, versions 2.4 to 3.2.
// What it holds is what Metal does differently from its relatives in package
// cfamily, which does the work.
//
// The model:
//
//   - Buffer 0 is the block of arguments, packed as for every other target. Slices
//     are addresses in it ([MTLBuffer gpuAddress], Metal 3), so the driver has to
//     make the memory that they point to resident and needs no table of indices.
//   - Every pointer has an address space: device, threadgroup or thread. Helpers
//     that take pointers have an overload for each.
//   - Indices and sizes are parameters of the kernel, those that it uses.
//   - Everything of Metal's library is written with its namespace, because Go names
//     must stay free.
//   - Products and sums are kept apart, and floats keep their meaning: the text asks
//     for that where the language can, the driver's options ask for the rest.
//     Subnormal numbers may be flushed to zero by the hardware.
//   - Metal has no float64, no 64-bit atomics on all devices and, before 3.2, no
//     fences; all are refused, with the place in the source. bfloat16 is held as its
//     bits on every version, so no version refuses it.
//   - Nothing traps: a thread that fails a check returns. Metal wants all threads of a
//     threadgroup at a barrier; Apple's hardware goes on without those that have ended,
//     and a launch with a failed thread has failed in any case.
//
// Known traps of Metal, and how the text keeps out of them:
//
//   - max_total_threads_per_threadgroup makes the compiler get loads of 8×8 matrices
//     wrong: the text never has it, and the pipeline state says how many threads it runs.
//   - Fast math breaks exp(−∞), NaN and infinities, and it is Metal's default:
//     pragma and options both say safe, and library functions whose fast forms differ are named
//     with precise::.
//   - Very long bodies crash the compiler: unrolling has budgets (pass unroll), and
//     functions that the text shares are helpers, not copies.
//   - There is no float64, and no double in the text; bfloat needs 3.1, so there is none
//     either but in products of matrices, which begin with 3.1; atomics are on words.
//   - Threadgroup memory is 32 KB: package cfamily refuses more before Metal sees it.
//     It is declared in the kernel and never initialised there.
//   - There is no goto and no recursion; control flow is loops, branches and flags.
//   - A shuffle from a lane that does not exist is undefined: the text clamps the lane.
//   - atomic_compare_exchange_weak may fail for no reason: the text repeats it.
//   - A threadgroup need not make progress while another waits for it. A kernel that
//     spins until another block has done something may spin for ever; handing work to
//     the last block that comes, by an atomic counter, is fine.
//
// Example:
//
//	text, err := msl.Language.Emit(module, target, cfamily.Options{})
package msl
