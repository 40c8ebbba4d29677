// The functions of libamdhip64.
#include "shim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

// The architecture that the device passes for: it has waves of 32 lanes too.
#define ARCH "gfx1030"

// OPEN makes sure that there is a libcuda.
#define OPEN() \
	do { \
		int opened = open_cuda(); \
		if (opened != SUCCESS) return opened; \
	} while (0)

EXPORT int hipInit(unsigned flags) {
	OPEN();
	return flags ? INVALID_VALUE : SUCCESS;
}

// hipRuntimeGetVersion tells another version for another prelude or driver: the
// version is part of the key under which machine code is kept.
EXPORT int hipRuntimeGetVersion(int *v) {
	OPEN();
	int driver = 0;
	int r = cuda.cuDriverGetVersion(&driver);
	if (r != SUCCESS) return hip_error(r);
	char text[64];
	snprintf(text, sizeof text, "%d sm_%d", driver, architecture());
	*v = 60300000 + (int)(hash(text, hash(shim_prelude, 2166136261u)) % 100000);
	return SUCCESS;
}

// ---- devices ------------------------------------------------------------------------

EXPORT int hipGetDeviceCount(int *n) {
	OPEN();
	int r = cuda.cuDeviceGetCount(n);
	if (r == SUCCESS && *n == 0) return NO_DEVICE;
	return hip_error(r);
}

EXPORT int hipDeviceGet(int *out, int ordinal) {
	OPEN();
	return hip_error(cuda.cuDeviceGet(out, ordinal));
}

EXPORT int hipDeviceGetName(char *name, int size, int device) {
	OPEN();
	return hip_error(cuda.cuDeviceGetName(name, size, device));
}

EXPORT int hipDeviceTotalMem(size_t *n, int device) {
	OPEN();
	return hip_error(cuda.cuDeviceTotalMem_v2(n, device));
}

static int properties(char *out, size_t size, size_t arch, int device) {
	OPEN();
	memset(out, 0, size);
	int r = cuda.cuDeviceGetName(out, 255, device);
	if (r == SUCCESS) strcpy(out + arch, ARCH);
	return hip_error(r);
}

// Both layouts, as far as the architecture's name: the one that HIP 6 brought, and
// the one behind the plain symbol.
EXPORT int hipGetDevicePropertiesR0600(char *out, int device) { return properties(out, 1472, 1160, device); }
EXPORT int hipGetDeviceProperties(char *out, int device) { return properties(out, 792, 396, device); }

// CUdevice_attribute of a hipDeviceAttribute_t.
static const struct { int hip, cuda; } attributes[] = {
	{5, 13},                               // clock rate
	{10, 95},                              // cooperative launches
	{19, 38},                              // L2 cache
	{26, 2}, {27, 3}, {28, 4},             // size of a block
	{29, 5}, {30, 6}, {31, 7},             // size of a grid
	{56, 1}, {57, 39},                     // threads of a block and of a unit
	{59, 37}, {60, 36},                    // width and clock of the memory's bus
	{63, 16},                              // units
	{67, 33}, {68, 34}, {69, 50},          // PCI bus, slot, domain
	{72, 82}, {74, 8}, {87, 10}, {88, 115} // registers, shared memory, warp, memory pools
};

EXPORT int hipDeviceGetAttribute(int *v, int attribute, int device) {
	OPEN();
	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
		if (attributes[i].hip == attribute) return hip_error(cuda.cuDeviceGetAttribute(v, attributes[i].cuda, device));
	return refuse(INVALID_VALUE, "HIP over CUDA does not know attribute %d of a device", attribute);
}

#define MAX_DEVICES 64
static _Atomic(void *) contexts[MAX_DEVICES];

// hipSetDevice makes the primary context of the device current on this thread. It is
// retained once and never released: HIP's state lives as long as the process.
EXPORT int hipSetDevice(int device) {
	OPEN();
	if (device < 0 || device >= MAX_DEVICES) return refuse(INVALID_DEVICE, "there is no device %d", device);
	void *context = atomic_load(&contexts[device]);
	if (context == NULL) {
		static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
		pthread_mutex_lock(&mutex);
		context = atomic_load(&contexts[device]);
		int r = context == NULL ? cuda.cuDevicePrimaryCtxRetain(&context, device) : SUCCESS;
		if (r == SUCCESS) atomic_store(&contexts[device], context);
		pthread_mutex_unlock(&mutex);
		if (r != SUCCESS) return hip_error(r);
	}
	return hip_error(cuda.cuCtxSetCurrent(context));
}

EXPORT int hipDeviceSynchronize(void) { return hip_error(cuda.cuCtxSynchronize()); }

// ---- memory ---------------------------------------------------------------------------

EXPORT int hipMemGetInfo(size_t *available, size_t *total) { return hip_error(cuda.cuMemGetInfo_v2(available, total)); }
EXPORT int hipMalloc(uint64_t *p, size_t size) { return hip_error(cuda.cuMemAlloc_v2(p, size)); }
EXPORT int hipFree(uint64_t p) { return hip_error(cuda.cuMemFree_v2(p)); }
EXPORT int hipMallocAsync(uint64_t *p, size_t size, void *stream) { return hip_error(cuda.cuMemAllocAsync(p, size, stream)); }
EXPORT int hipFreeAsync(uint64_t p, void *stream) { return hip_error(cuda.cuMemFreeAsync(p, stream)); }
EXPORT int hipHostFree(void *p) { return hip_error(cuda.cuMemFreeHost(p)); }

EXPORT int hipHostMalloc(void **p, size_t size, unsigned flags) {
	if (flags & ~1u) return refuse(INVALID_VALUE, "HIP over CUDA does not know the flags %#x of page-locked memory", flags);
	return hip_error(cuda.cuMemHostAlloc(p, size, flags)); // 1 is "portable" for both
}

EXPORT int hipDeviceGetDefaultMemPool(void **pool, int device) { return hip_error(cuda.cuDeviceGetDefaultMemPool(pool, device)); }
EXPORT int hipMemPoolTrimTo(void *pool, size_t keep) { return hip_error(cuda.cuMemPoolTrimTo(pool, keep)); }

// The attributes of a pool have the same numbers.
EXPORT int hipMemPoolSetAttribute(void *pool, int attribute, void *v) { return hip_error(cuda.cuMemPoolSetAttribute(pool, attribute, v)); }
EXPORT int hipMemPoolGetAttribute(void *pool, int attribute, void *v) { return hip_error(cuda.cuMemPoolGetAttribute(pool, attribute, v)); }

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, BY_ADDRESS = 4 };

EXPORT int hipMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream) {
	switch (kind) {
	case HOST_TO_DEVICE: return hip_error(cuda.cuMemcpyHtoDAsync_v2((uint64_t)to, from, size, stream));
	case DEVICE_TO_HOST: return hip_error(cuda.cuMemcpyDtoHAsync_v2(to, (uint64_t)from, size, stream));
	}
	return hip_error(cuda.cuMemcpyAsync((uint64_t)to, (uint64_t)from, size, stream));
}

// CUDA_MEMCPY2D
struct place {
	size_t x, y;
	int type;
	const void *host;
	uint64_t device;
	void *array;
	size_t pitch;
};
struct rectangle {
	struct place from, to;
	size_t width, height;
};

EXPORT int hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind, void *stream) {
	if (kind != BY_ADDRESS) return refuse(INVALID_VALUE, "HIP over CUDA copies rectangles by address only");
	const int unified = 4;
	struct rectangle r = {
		.from = {.type = unified, .device = (uint64_t)from, .pitch = from_pitch},
		.to = {.type = unified, .device = (uint64_t)to, .pitch = to_pitch},
		.width = width, .height = height,
	};
	return hip_error(cuda.cuMemcpy2DAsync_v2(&r, stream));
}

EXPORT int hipMemsetD8Async(uint64_t to, unsigned char value, size_t size, void *stream) {
	return hip_error(cuda.cuMemsetD8Async(to, value, size, stream));
}

// ---- streams and events -----------------------------------------------------------------

// Flags 0 are ordered against the null stream for both.
EXPORT int hipStreamCreateWithFlags(void **s, unsigned flags) { return hip_error(cuda.cuStreamCreate(s, flags)); }
EXPORT int hipStreamDestroy(void *s) { return hip_error(cuda.cuStreamDestroy_v2(s)); }
EXPORT int hipStreamSynchronize(void *s) { return hip_error(cuda.cuStreamSynchronize(s)); }
EXPORT int hipStreamWaitEvent(void *s, void *e, unsigned flags) { return hip_error(cuda.cuStreamWaitEvent(s, e, flags)); }

// 2 is "takes no time" for both.
EXPORT int hipEventCreateWithFlags(void **e, unsigned flags) { return hip_error(cuda.cuEventCreate(e, flags)); }
EXPORT int hipEventDestroy(void *e) { return hip_error(cuda.cuEventDestroy_v2(e)); }
EXPORT int hipEventRecord(void *e, void *s) { return hip_error(cuda.cuEventRecord(e, s)); }
EXPORT int hipEventQuery(void *e) { return hip_error(cuda.cuEventQuery(e)); }
EXPORT int hipEventSynchronize(void *e) { return hip_error(cuda.cuEventSynchronize(e)); }
EXPORT int hipEventElapsedTime(float *ms, void *from, void *to) { return hip_error(cuda.cuEventElapsedTime(ms, from, to)); }

// ---- modules --------------------------------------------------------------------------------

EXPORT int hipModuleLoadData(void **module, const void *image) {
	char log[300] = "";
	int keys[] = {5, 6}; // error log, its size
	void *values[] = {log, (void *)sizeof log};
	int r = cuda.cuModuleLoadDataEx(module, image, 2, keys, values);
	int code = hip_error(r);
	return *log && r != SUCCESS ? refuse(code, "%s", log) : code;
}

EXPORT int hipModuleUnload(void *module) { return hip_error(cuda.cuModuleUnload(module)); }
EXPORT int hipModuleGetFunction(void **f, void *module, const char *name) { return hip_error(cuda.cuModuleGetFunction(f, module, name)); }

// The first attributes have the same numbers.
EXPORT int hipFuncGetAttribute(int *v, int attribute, void *f) { return hip_error(cuda.cuFuncGetAttribute(v, attribute, f)); }

// cuda_extra takes the block of arguments only: {1, address, 2, address of the size, 3}.
// CUDA's list ends with 0.
int cuda_extra(void **parameters, void **extra, void *ours[5]) {
	if (parameters != NULL || extra == NULL) return refuse(INVALID_VALUE, "HIP over CUDA wants the arguments in one block");
	if ((uintptr_t)extra[0] != 1 || (uintptr_t)extra[2] != 2 || (uintptr_t)extra[4] != 3)
		return refuse(INVALID_VALUE, "the list of extras is not HIP's: 1, address, 2, address of the size, 3");
	ours[0] = (void *)1, ours[1] = extra[1], ours[2] = (void *)2, ours[3] = extra[3], ours[4] = NULL;
	return SUCCESS;
}

EXPORT int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, void *stream, void **parameters, void **extra) {
	void *ours[5];
	int r = cuda_extra(parameters, extra, ours);
	return r != SUCCESS ? r : hip_error(cuda.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, NULL, ours));
}

// The parameters are given one by one to both.
EXPORT int hipModuleLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, void *stream, void **parameters) {
	return hip_error(cuda.cuLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters));
}

EXPORT int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int threads, size_t shared) {
	return hip_error(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(n, f, threads, shared));
}
