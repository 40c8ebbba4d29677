// Package rocm is the driver of AMD GPUs. It needs nothing but the vendor's
// runtime: libamdhip64 and the compiler in it, libhiprtc, are opened while the
// program runs.
//
// The model:
//
//   - Package vendorapi is the driver; this package says under which names libamdhip64
//     has the functions, with which numbers, and does what CUDA has no like of.
//     A missing library or function is an error that says what was looked for.
//     Without hipRTC a device loads code objects only.
//   - HIP has no context that takes everything with it, so a device keeps a list
//     of what was made on it and not destroyed, and destroys that when it closes.
//   - One structure of graphs, and a function that they need, are not the same in all
//     versions; without the function there are no graphs.
//   - Code of format "hip" is HIP C++ text, which hipRTC compiles to "hsaco", a
//     code object. The architecture's name goes with its features into the key of
//     code objects ("gfx90a:sramecc+:xnack-") and without them elsewhere.
//
// A kernel that touches memory it must not touch ends the process: ROCm's runtime
// aborts, and no error is returned to anyone.
//
// KILN_HIP_LIBRARY and KILN_HIPRTC_LIBRARY name the files to open instead of the
// usual ones.
//
//	b := rocm.New()
//	report := b.Probe()
//	dev, err := b.Open(0)
package rocm
