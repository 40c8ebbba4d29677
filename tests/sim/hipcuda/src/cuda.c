// libcuda: its functions, errors.
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cuda cuda;
const char *cuda_instead, *nvrtc_instead;

// shim_use names the libraries to open, before the first call: a program cannot set
// the environment of C.
EXPORT void shim_use(const char *cuda_library, const char *nvrtc_library) {
	cuda_instead = strdup(cuda_library);
	nvrtc_instead = strdup(nvrtc_library);
}

// What hipGetErrorString adds to a code: the last text of that code. It is not kept
// by thread, since a goroutine may ask from another one than it called from.
static struct detail {
	int code;
	char text[400];
} details[32];
static pthread_mutex_t details_mutex = PTHREAD_MUTEX_INITIALIZER;

static void keep(int code, const char *text) {
	pthread_mutex_lock(&details_mutex);
	int i = 0;
	while (i < 31 && details[i].code != 0 && details[i].code != code) i++;
	details[i].code = code;
	snprintf(details[i].text, sizeof details[i].text, "%s", text);
	pthread_mutex_unlock(&details_mutex);
}

int refuse(int code, const char *format, ...) {
	char text[400];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	keep(code, text);
	return code;
}

// Most numbers are the same. What HIP does not tell apart is a failed launch.
static int number(int result) {
	switch (result) {
	case 222: case 223: return NO_BINARY; // the code is too new for the driver
	case 714: case 715: case 716: case 717: case 718: return LAUNCH_FAILURE;
	}
	return result;
}

int hip_error(int result) {
	if (result == SUCCESS || result == NOT_READY) return result;
	const char *name = "CUDA error", *text = "without a text";
	if (cuda.cuGetErrorName == NULL || cuda.cuGetErrorName(result, &name) != SUCCESS) name = "CUDA error";
	if (cuda.cuGetErrorString == NULL || cuda.cuGetErrorString(result, &text) != SUCCESS) text = "without a text";
	return refuse(number(result), "%s (%d) of the CUDA driver: %s", name, result, text);
}

static const struct { int code; const char *name, *text; } names[] = {
	{0, "hipSuccess", "no error"},
	{1, "hipErrorInvalidValue", "invalid argument"},
	{2, "hipErrorOutOfMemory", "out of memory"},
	{3, "hipErrorNotInitialized", "initialization error"},
	{4, "hipErrorDeinitialized", "driver shutting down"},
	{100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
	{101, "hipErrorInvalidDevice", "invalid device ordinal"},
	{200, "hipErrorInvalidImage", "device kernel image is invalid"},
	{201, "hipErrorInvalidContext", "invalid device context"},
	{209, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
	{214, "hipErrorECCNotCorrectable", "uncorrectable ECC error encountered"},
	{218, "hipErrorInvalidKernelFile", "invalid kernel file"},
	{300, "hipErrorInvalidSource", "device kernel image is invalid"},
	{301, "hipErrorFileNotFound", "file not found"},
	{400, "hipErrorInvalidHandle", "invalid resource handle"},
	{500, "hipErrorNotFound", "named symbol not found"},
	{600, "hipErrorNotReady", "device not ready"},
	{700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
	{701, "hipErrorLaunchOutOfResources", "out of resources"},
	{702, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
	{710, "hipErrorAssert", "device-side assert triggered"},
	{719, "hipErrorLaunchFailure", "unspecified launch failure"},
	{720, "hipErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
	{801, "hipErrorNotSupported", "operation not supported"},
	{999, "hipErrorUnknown", "unknown error"},
};

EXPORT const char *hipGetErrorName(int code) {
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].code == code) return names[i].name;
	return NULL;
}

// The text stays where it is until the thread asks again.
EXPORT const char *hipGetErrorString(int code) {
	static __thread char out[600];
	const char *text = "an error that HIP does not have";
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].code == code) text = names[i].text;
	snprintf(out, sizeof out, "%s", text);
	pthread_mutex_lock(&details_mutex);
	for (int i = 0; i < 32; i++)
		if (details[i].code == code && code != SUCCESS) snprintf(out, sizeof out, "%s: %s", text, details[i].text);
	pthread_mutex_unlock(&details_mutex);
	return out;
}

static int start(void) {
	const char *name = cuda_instead ? cuda_instead : getenv("KILN_CUDA_LIBRARY");
	if (name == NULL || *name == 0) name = "libcuda.so.1";
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (lib == NULL) return refuse(NO_DEVICE, "HIP over CUDA needs NVIDIA's driver: %s", dlerror());
#define FIND(name, parameters) \
	*(void **)&cuda.name = dlsym(lib, #name); \
	if (cuda.name == NULL) return refuse(NO_DEVICE, "NVIDIA's driver has no %s: %s", #name, dlerror());
	CUDA_FUNCTIONS(FIND)
#undef FIND
	return hip_error(cuda.cuInit(0));
}

int open_cuda(void) {
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	static int done, result;
	pthread_mutex_lock(&once);
	if (!done) result = start();
	done = 1;
	pthread_mutex_unlock(&once);
	return result;
}

int architecture(void) {
	int major = 0, minor = 0;
	if (open_cuda() != SUCCESS || cuda.cuDeviceGetAttribute(&major, 75, 0) != SUCCESS || cuda.cuDeviceGetAttribute(&minor, 76, 0) != SUCCESS) return 0;
	return 10 * major + minor;
}

uint32_t hash(const char *text, uint32_t h) {
	for (; *text; text++) h = (h ^ (unsigned char)*text) * 16777619u; // FNV-1a
	return h;
}
