// Package runtime runs compiled kernels: devices, memory, streams, events and
// launches, the same for every kind of device.
//
// The model:
//
//   - [Open] gives a [Device] by name: "cpu", "cuda:0", or "auto" for the best
//     one there is. [Probe] tells what was looked for and found.
//   - A [Slice] is a typed view of device memory, a [Buffer]. Memory is freed by
//     Free, or when Go collects the last Slice of it; either way after the work
//     that was submitted before, so a launch never loses its operands.
//   - A [Stream] is a queue. Launches and copies are asynchronous and in order.
//     Work on the device's default stream is ordered against all its streams;
//     streams of [Device.NewStream] overlap with each other. The functions that
//     take no stream use the default stream, so they always see earlier work.
//   - An [Event] marks a point in a stream, to wait for or to measure time.
//   - A [Graph] is work that was captured, to be launched as a whole: see
//     [Device.Capture].
//   - A [Module] is loaded code, a [Function] one kernel in it. Most programs leave
//     these to package jit.
//   - A kernel that fails makes the next call that waits for it fail, with the
//     kernel's name. On the CPU that clears the error. A GPU's context is lost:
//     every later call on the device reports the same error.
//
// Environment: KILN_CUDA_LIBRARY names the CUDA driver's library file, instead
// of the usual places. KILN_LAUNCH_BLOCKING=1 waits for every launch, so that
// a failure is reported by the launch that caused it.
//
//	dev, err := runtime.Open("auto")
//	x, err := runtime.From(dev, []float32{1, 2, 3})
//	mod, err := dev.Load(image)
//	fn, err := mod.Function("scale")
//	err = dev.DefaultStream().Launch(fn, runtime.Cover(x.Len(), 256), 0, args)
//	result, err := x.Host()
package runtime
