// Package hip makes the ROCm driver testable, and HIP kernels executable, on a
// machine without an AMD GPU: it builds a stand-in for libamdhip64 and libhiprtc
// and steers it.
//
// The model:
//
//   - [Open] compiles the sources in src with clang++, once for a test binary, and
//     returns a handle; a machine without clang++-19 skips the test, or fails it
//     when KILN_REQUIRE_TOOLS=1. [Library.Path] is the file that serves as both
//     libraries.
//   - hipRTC compiles HIP text as C++ for this machine, with src/prelude.h before
//     it. That header is the list of what a kernel may use.
//   - The threads of a block are fibers of one host thread; a block runs at a time. The
//     blocks of a cooperative launch take turns, each with shared memory of its own; a
//     device holds about a hundred of them.
//     At barriers and at operations of a wave all threads of the block or wave
//     that have not returned have to arrive, or the kernel fails. Shared memory is filled with 0xFF before
//     each block; device memory is fenced, and freed memory cannot be touched.
//     Calls with wrong handles, wrong sizes or Go memory are refused.
//   - A kernel that fails loses the device: each later call says what happened.
//   - There is a device for each architecture in KILN_SIM_ARCH; by default
//     gfx942 with waves of 64 lanes, gfx1100 with waves of 32, and then the others.
//   - The stand-in's state belongs to the process. Every Open resets it, so tests
//     that use it must not run in parallel.
//   - A test package calls [Main] or [Clean] at its end; it removes what was built.
//
// Example:
//
//	lib := hip.Open(t)
//	lib.Fail("hipMallocAsync", 2, 0, 1) // the first allocation is out of memory
//	t.Setenv("KILN_HIP_LIBRARY", lib.Path)
//	dev, err := runtime.Open("rocm:0")
package hip
