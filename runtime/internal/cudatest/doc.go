// Package cudatest makes the CUDA driver testable on a machine without a GPU: it
// builds a stand-in for libcuda, which runs on host memory, and steers it.
//
// The model:
//
//   - [Open] compiles testdata/standin.c with gcc, once for a test binary, and returns a
//     handle; a machine without gcc skips the test, or fails it when
//     KILN_REQUIRE_TOOLS=1.
//   - The stand-in's state belongs to the process. Every Open resets it, so tests
//     that use it must not run in parallel.
//   - A test package calls [Main] from TestMain; it removes what was built.
//
// Example:
//
//	lib := cudatest.Open(t)
//	lib.Fail("cuMemAllocAsync", 2, 0, 1) // the first allocation is out of memory
//	dev, err := cuda.New(lib.Path).Open(0)
package cudatest
