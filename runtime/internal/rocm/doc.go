// Package rocm is the driver of AMD GPUs. It needs nothing but the vendor's
// runtime: libamdhip64 and the compiler in it, libhiprtc, are opened while the
// program runs.
//
// The model:
//
//   - [library] holds the addresses of the functions; api.go is the whole list.
//     A missing library or function is an error that says what was looked for.
//     Without hipRTC a device loads code objects only.
//   - HIP keeps the current device per OS thread and goroutines move between
//     threads, so every entry locks its thread and sets the device first.
//   - The default stream is HIP's null stream, other streams are blocking ones:
//     that gives the order which package driver demands.
//   - Memory comes from the device's stream-ordered pool, where there is one.
//     Copies of Go memory go through page-locked chunks, see package hostcopy.
//   - Graphs are the runtime's, of nodes with explicit dependencies: see package
//     vendorgraph, which this package tells what a node is. Its functions and one
//     structure are not the same in all versions; without them there are no graphs.
//   - HIP has no context that takes everything with it, so a device keeps a list
//     of what was made on it and not destroyed, and destroys that when it closes.
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
