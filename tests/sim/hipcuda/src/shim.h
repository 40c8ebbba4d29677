// The parts of the shim and what they offer each other.
//
//   cuda.c    libcuda: its functions, errors, the current device
//   hip.c     the functions of libamdhip64
//   graph.c   those of graphs
//   hiprtc.c  the functions of libhiprtc, on NVRTC
#pragma once
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

// The functions of libcuda that are used, with their parameters.
#define CUDA_FUNCTIONS(X) \
	X(cuInit, (unsigned)) \
	X(cuDriverGetVersion, (int *)) \
	X(cuGetErrorName, (int, const char **)) \
	X(cuGetErrorString, (int, const char **)) \
	X(cuDeviceGetCount, (int *)) \
	X(cuDeviceGet, (int *, int)) \
	X(cuDeviceGetName, (char *, int, int)) \
	X(cuDeviceTotalMem_v2, (size_t *, int)) \
	X(cuDeviceGetAttribute, (int *, int, int)) \
	X(cuDevicePrimaryCtxRetain, (void **, int)) \
	X(cuCtxSetCurrent, (void *)) \
	X(cuCtxSynchronize, (void)) \
	X(cuMemGetInfo_v2, (size_t *, size_t *)) \
	X(cuMemAlloc_v2, (uint64_t *, size_t)) \
	X(cuMemFree_v2, (uint64_t)) \
	X(cuMemHostAlloc, (void **, size_t, unsigned)) \
	X(cuMemFreeHost, (void *)) \
	X(cuMemAllocAsync, (uint64_t *, size_t, void *)) \
	X(cuMemFreeAsync, (uint64_t, void *)) \
	X(cuDeviceGetDefaultMemPool, (void **, int)) \
	X(cuMemPoolSetAttribute, (void *, int, void *)) \
	X(cuMemPoolGetAttribute, (void *, int, void *)) \
	X(cuMemPoolTrimTo, (void *, size_t)) \
	X(cuMemcpyAsync, (uint64_t, uint64_t, size_t, void *)) \
	X(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *)) \
	X(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *)) \
	X(cuMemcpy2DAsync_v2, (const void *, void *)) \
	X(cuMemsetD8Async, (uint64_t, unsigned char, size_t, void *)) \
	X(cuStreamCreate, (void **, unsigned)) \
	X(cuStreamDestroy_v2, (void *)) \
	X(cuStreamSynchronize, (void *)) \
	X(cuStreamWaitEvent, (void *, void *, unsigned)) \
	X(cuEventCreate, (void **, unsigned)) \
	X(cuEventDestroy_v2, (void *)) \
	X(cuEventRecord, (void *, void *)) \
	X(cuEventQuery, (void *)) \
	X(cuEventSynchronize, (void *)) \
	X(cuEventElapsedTime, (float *, void *, void *)) \
	X(cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **)) \
	X(cuModuleUnload, (void *)) \
	X(cuModuleGetFunction, (void **, void *, const char *)) \
	X(cuFuncGetAttribute, (int *, int, void *)) \
	X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)) \
	X(cuLaunchCooperativeKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **)) \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, void *, int, size_t)) \
	X(cuCtxGetCurrent, (void **)) \
	X(cuGraphCreate, (void **, unsigned)) \
	X(cuGraphAddKernelNode_v2, (void **, void *, void *const *, size_t, const void *)) \
	X(cuGraphAddMemcpyNode, (void **, void *, void *const *, size_t, const void *, void *)) \
	X(cuGraphAddMemsetNode, (void **, void *, void *const *, size_t, const void *, void *)) \
	X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
	X(cuGraphLaunch, (void *, void *)) \
	X(cuGraphDestroy, (void *)) \
	X(cuGraphExecDestroy, (void *))

struct cuda {
#define DECLARE(name, parameters) int(*name) parameters;
	CUDA_FUNCTIONS(DECLARE)
#undef DECLARE
};
extern struct cuda cuda;

enum {
	SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
	INVALID_IMAGE = 200, NO_BINARY = 209, NOT_FOUND = 500, NOT_READY = 600, LAUNCH_FAILURE = 719, UNKNOWN = 999
};

// The libraries that shim_use named, NULL for the usual ones.
extern const char *cuda_instead, *nvrtc_instead;
// open_cuda opens and starts libcuda, once, and returns a hipError_t.
int open_cuda(void);
// hip_error makes a hipError_t of a CUresult, and keeps what CUDA says about it.
int hip_error(int cuda_result);
// refuse returns a hipError_t and keeps text for hipGetErrorString to add.
int refuse(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
// cuda_extra makes CUDA's list of extras of HIP's.
int cuda_extra(void **parameters, void **extra, void *ours[5]);
// architecture is the number N in sm_N of the first device, 0 if there is none.
int architecture(void);
// hash is a number for texts that differ.
uint32_t hash(const char *text, uint32_t start);
// shim_prelude is the text of prelude.h.
extern const char shim_prelude[];
