// Package detour has kernels compiled for a device in another way than its driver asks
// for. Tests take it to run what no device loads by itself: CUDA C++ after NVRTC, or
// the PTX of LLVM, through everything else that a launch is.
//
//	back := detour.Take(&detour.Way{Loads: "cubin", Target: …, Emit: …})
//	defer back()
//
// Package jit asks [For] when it meets a device, and keeps no code that came by a way in
// its cache.
package detour
