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
//   - Launching returns at once. A kernel's failure stops its stream: what was
//     queued behind it does not run, and the next call that waits for the
//     stream returns the error and clears it.
//   - Code is the compiler's IR (format "kir"); the executor that runs it is
//     given by [Backend.Load], in one place, exec.go.
//
// Example:
//
//	dev, err := cpu.New().Open(0)
//	a, err := dev.Default().Alloc(4096)
//	err = dev.Default().Upload(a, host)
package cpu
