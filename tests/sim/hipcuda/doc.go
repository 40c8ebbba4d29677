// Package hipcuda runs the ROCm driver on an NVIDIA GPU: it builds a stand-in for
// libamdhip64 and libhiprtc that does everything with libcuda and NVRTC.
//
// The model:
//
//   - [Build] compiles the sources in src with a C compiler, once for a test binary;
//     a machine without one skips the test. bench/build.sh builds the same file for
//     a machine that has a GPU and no compiler; KILN_HIP_LIBRARY names it there.
//   - The device is NVIDIA's and says that it is a gfx1030, which has waves of 32
//     lanes too, and no matrix instructions, which NVRTC has no vectors for. Its limits are those of the GPU: 48 KiB of shared memory.
//   - hipRTC compiles HIP text with NVRTC, behind src/prelude.h. That header is the
//     list of the builtins that a text may use.
//   - Every function of HIP that the driver calls is one of CUDA's. Errors keep
//     their number, and the text of HIP's has what CUDA said behind it.
//   - KILN_CUDA_LIBRARY and KILN_NVRTC name the libraries below, where they are not
//     in the usual places. [BuildOver] puts stand-ins there, so that what lies between
//     is tested on a machine without a GPU.
//
// Example:
//
//	t.Setenv("KILN_HIP_LIBRARY", hipcuda.Build(t))
//	dev, err := runtime.Open("rocm:0")
package hipcuda
