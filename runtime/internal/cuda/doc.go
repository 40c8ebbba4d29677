// Package cuda is the driver of NVIDIA GPUs. It needs nothing but the vendor's
// driver: libcuda is opened while the program runs, and machine code is made
// from PTX by the compiler inside it.
//
// The model:
//
//   - [library] holds the addresses of libcuda's functions; api.go is the whole
//     list. A missing library or function is an error that says what was looked for.
//   - A device uses the primary context, as every other CUDA library does.
//     CUDA keeps the current context per OS thread and goroutines move between
//     threads, so every entry locks its thread and sets the context first.
//   - The default stream is CUDA's legacy stream, other streams are blocking
//     ones: that gives the order which package driver demands.
//   - Memory comes from the device's stream-ordered pool, where there is one.
//   - Copies of Go memory go through page-locked chunks, see package hostcopy:
//     the device never sees a Go pointer.
//   - Graphs are the driver's, of nodes with explicit dependencies: see package
//     vendorgraph, which this package tells what a node is.
//   - What is passed by address to the driver lies on the Go heap, which does not
//     move: functions marked go:uintptrescapes see to that, and on the launch
//     path the pooled driver.Launch.
//
// KILN_CUDA_LIBRARY names the library file to open instead of the usual ones.
//
//	b := cuda.New()
//	report := b.Probe()
//	dev, err := b.Open(0)
package cuda
