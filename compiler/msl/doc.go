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
//   - Nothing traps: a thread that fails a check returns.
//
// Example:
//
//	text, err := msl.Language.Emit(module, target, cfamily.Options{})
package msl
