// Package cuda is the driver of NVIDIA GPUs. It needs nothing but the vendor's
// driver: libcuda is opened while the program runs, and machine code is made
// from PTX by the compiler inside it.
//
// The model:
//
//   - Package vendorapi is the driver; this package says under which names libcuda
//     has the functions, with which numbers, and does what HIP has no like of.
//     A missing library or function is an error that says what was looked for.
//   - A device uses the primary context, as every other CUDA library does. The
//     default stream is CUDA's legacy stream.
//   - Code is a cubin, or PTX, which the driver's linker compiles to one.
//   - Cooperative launches, and those that overlap the one before, have an
//     attribute (stream.go).
//
// KILN_CUDA_LIBRARY names the library file to open instead of the usual ones.
//
//	b := cuda.New()
//	report := b.Probe()
//	dev, err := b.Open(0)
package cuda
