// Package through runs kernels on NVIDIA's GPUs by the other two ways that lead there:
// CUDA C++ text compiled by NVRTC, and LLVM IR made into PTX by LLVM. Everything around
// them, from the arguments to the device log, is that of ordinary launches, so that
// whole suites can be run each way and compared.
//
//	defer detour.Take(through.NVRTC(lib))()
//	conformance.RunAll(t, dev)
//
// A machine with a GPU need not have LLVM: what LLVM is asked for is written down
// somewhere else, where the same kernels run on the CPU, and made into an archive of
// [Images].
//
//	rec, err := through.NewRecorder("sm_90")
//	back := detour.Take(rec.Way())      // run the suite on the device cpu:interp, whose warps are those of GPUs
//	back()
//	err := rec.Write(ctx, file)         // with llc
//
//	images, err := through.OpenImages("images.zip")
//	defer detour.Take(through.LLVM(images))() // run the suite on the GPU
package through
