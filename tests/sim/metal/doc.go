// Package metal makes the Metal driver testable, and Metal kernels executable, on a
// machine without an Apple GPU: it builds a stand-in for Apple's libraries and steers
// it.
//
// The model:
//
//   - [Open] compiles the sources in src with clang++, once for a test binary; a
//     machine without clang++-19 skips the test, or fails it when
//     KILN_REQUIRE_TOOLS=1.
//   - Text is compiled as C++ for OpenCL, which keeps the same address spaces apart;
//     src/metal_stdlib is the list of what a kernel may use, by version. Parameters of
//     kernels are read and judged by the simulator itself.
//   - Kernels run on the engine of package hip, with simdgroups of 32 lanes: fibers,
//     poisoned threadgroup memory, divergence found at barriers.
//   - Buffers have one address for the host and another for kernels, which can touch
//     only what is resident; private buffers have none for the host. Each queue has a
//     thread that runs its command buffers in the order in which they were committed.
//   - Binary archives are files of the kernels that were put into them, for this GPU and
//     system. What is compiled is counted, and listed in the file that the environment
//     variable KILN_SIM_METAL_TRACE names.
//   - What Metal's validation layer would stop a process for is a problem, which fails
//     the test. Objects of Objective-C and of Metal are counted, and those that are left
//     at the end fail it too.
//
// Example:
//
//	code, err := metal.Open(t).Compile(text, 32)
//	err = code.Run("saxpy", grid, block, args)
package metal
