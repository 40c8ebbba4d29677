// Package cpu is the driver of the processor that the program runs on.
//
// The model:
//
//   - Device memory is memory of the process, mapped outside the Go heap, so
//     that the garbage collector neither scans nor moves it. Small blocks come
//     from slabs, large ones from mappings that are kept for reuse.
//   - All streams of the device feed one queue, which one goroutine works off
//     in order of submission. That is the strictest order the streams allow;
//     a kernel uses all cores by itself, so nothing is lost.
//   - Launching returns at once. What is queued behind a kernel that failed runs as
//     if nothing had happened. The device reports the failure by the number of the
//     launch, and the next Sync of the stream returns the error and clears it.
//   - Code is machine code (format "x86", see package native) where the engine is
//     one of native code, and the compiler's IR (format "kir"), which the
//     interpreter runs: all of it on other processors, and what checks or prints
//     on this. engine.go chooses.
//   - A kernel that is expected to take some microseconds, by how long it took
//     before, is run by the launch itself if nothing is queued.
//
// Example:
//
//	dev, err := cpu.New().Open(0)
//	a, err := dev.Default().Alloc(4096)
//	err = dev.Default().Upload(a, host)
package cpu
