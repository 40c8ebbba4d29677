// Package runtime runs compiled kernels: devices, memory, streams, events and
// launches, the same for every kind of device.
//
// The model:
//
//   - [Open] gives a [Device] by name: "cpu", "cuda:0", or "auto" for the best
//     one there is. [Probe] reports what was looked for and found.
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
//   - The error of a kernel belongs to the buffers that are computed from its results:
//     reading one of them returns it each time, with the line that launched the kernel, and
//     [Buffer.Err] reports it. Work behind the kernel runs, on its stream and on others, and
//     what does not depend on the kernel is right. [Stream.Sync] and [Device.Sync] report a
//     failure too, once. A buffer that is set as a whole by other work is free of the error.
//   - What a GPU cannot recover from, an address that is not mapped above all, takes its
//     context and all that is in its memory: every later call on the device reports it.
//
// Environment: KILN_CUDA_LIBRARY names the CUDA driver's library file, instead
// of the usual paths. KILN_LAUNCH_BLOCKING=1 waits for every launch, so that
// a failure is reported by the launch that caused it. KILN_LAUNCH_TIMEOUT=30s bounds the time
// of every launch, see [Device.SetLaunchTimeout].
//
//	dev, err := runtime.Open("auto")
//	x, err := runtime.From(dev, []float32{1, 2, 3})
//	mod, err := dev.Load(image)
//	fn, err := mod.Function("scale")
//	err = dev.DefaultStream().Launch(fn, runtime.Cover(x.Len(), 256), 0, args)
//	result, err := x.Host()
package runtime
