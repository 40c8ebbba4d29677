// The functions of libamdhip64 that are neither streams nor modules.
#include "sim.h"

#include <cstdio>
#include <cstring>

EXPORT int hipInit(unsigned flags) {
	ENTER(false);
	return flags ? INVALID_VALUE : SUCCESS;
}

EXPORT int hipRuntimeGetVersion(int *v) {
	ENTER(false);
	// Code that another simulator made is not this one's.
	*v = (setting("hip7") ? 70000000 : 60200000) + SIM_BUILD;
	return SUCCESS;
}

EXPORT int hipGetDeviceCount(int *n) {
	ENTER(false);
	*n = device_count();
	return *n ? SUCCESS : NO_DEVICE;
}

static bool valid(int device) { return device >= 0 && device < device_count(); }

EXPORT int hipDeviceGet(int *out, int ordinal) {
	ENTER(false);
	if (!valid(ordinal)) return INVALID_DEVICE;
	*out = ordinal;
	return SUCCESS;
}

EXPORT int hipDeviceGetName(char *name, int size, int device) {
	ENTER(false);
	if (!valid(device)) return INVALID_DEVICE;
	snprintf(name, (size_t)size, "%s", arch_of(device).model);
	return SUCCESS;
}

EXPORT int hipDeviceTotalMem(size_t *n, int device) {
	ENTER(false);
	if (!valid(device)) return INVALID_DEVICE;
	std::lock_guard<std::mutex> lock(mu);
	*n = memory_limit();
	return SUCCESS;
}

// Both layouts of the properties, as far as the architecture's name: the one that
// HIP 6 brought, and the one behind the plain symbol.
EXPORT int hipGetDevicePropertiesR0600(char *props, int device) {
	ENTER(false);
	if (!valid(device)) return INVALID_DEVICE;
	memset(props, 0, 1472);
	strcpy(props, arch_of(device).model);
	strcpy(props + 1160, arch_of(device).name);
	return SUCCESS;
}

EXPORT int hipGetDeviceProperties(char *props, int device) {
	ENTER(false);
	if (!valid(device)) return INVALID_DEVICE;
	memset(props, 0, 792);
	strcpy(props, arch_of(device).model);
	strcpy(props + 396, arch_of(device).name);
	return SUCCESS;
}

EXPORT int hipDeviceGetAttribute(int *v, int attribute, int device) {
	ENTER(false);
	if (!valid(device)) return INVALID_DEVICE;
	const Arch &a = arch_of(device);
	int pools = setting("pools");
	switch (attribute) {
	case 5: *v = 2100000; break;
	case 10: *v = setting("cooperative"); break;
	case 19: *v = 4 << 20; break;
	case 26: case 27: case 28: case 56: *v = 1024; break;
	case 29: *v = 2147483647; break;
	case 30: case 31: *v = 65535; break;
	case 57: *v = 2048; break;
	case 59: *v = 8192; break;
	case 60: *v = 1300000; break;
	case 63: *v = a.units; break;
	case 67: *v = 0x0c + device; break;
	case 68: case 69: *v = 0; break;
	case 72: *v = 65536 * 2; break;
	case 74: *v = a.lds; break;
	case 87: *v = a.wave; break;
	case 88: *v = pools; if (pools < 0) return INVALID_VALUE; break;
	default: return refuse(INVALID_VALUE, "attribute " + std::to_string(attribute) + " is unknown");
	}
	return SUCCESS;
}

// ---- memory --------------------------------------------------------------------------

EXPORT int hipMemGetInfo(size_t *free_bytes, size_t *total) {
	ENTER(true);
	std::lock_guard<std::mutex> lock(mu);
	*total = memory_limit(), *free_bytes = *total > memory_used() ? *total - memory_used() : 0;
	return SUCCESS;
}

static int allocate(void **p, size_t size, bool device) {
	std::lock_guard<std::mutex> lock(mu);
	uint64_t at = 0;
	int r = memory_alloc(&at, size, device);
	*p = (void *)(uintptr_t)at;
	return r;
}

static int release(void *p, bool device) {
	{
		std::lock_guard<std::mutex> lock(mu);
		if (memory_free((uint64_t)(uintptr_t)p, device)) return SUCCESS;
	}
	return refuse(INVALID_VALUE, "there is no allocation at this address");
}

// spans reports whether a range lies in one allocation, of the kind if given.
static bool spans(const void *p, size_t size, int device) {
	std::lock_guard<std::mutex> lock(mu);
	return inside((uint64_t)(uintptr_t)p, size, device);
}

static bool allocated(void *p) {
	std::lock_guard<std::mutex> lock(mu);
	return begins((uint64_t)(uintptr_t)p, true);
}

EXPORT int hipMalloc(void **p, size_t size) {
	ENTER(true);
	return allocate(p, size, true);
}

EXPORT int hipFree(void *p) {
	ENTER(true);
	int r = wait_for(latest());
	return r ? r : release(p, true);
}

EXPORT int hipMallocAsync(void **p, size_t size, void *stream) {
	ENTER(true);
	return stream_ok(stream) ? allocate(p, size, true) : INVALID_HANDLE;
}

EXPORT int hipFreeAsync(void *p, void *stream) {
	ENTER(true);
	if (!stream_ok(stream)) return INVALID_HANDLE;
	if (!allocated(p)) return refuse(INVALID_VALUE, "there is no allocation at this address");
	submit([p] { release(p, true); });
	return SUCCESS;
}

EXPORT int hipHostMalloc(void **p, size_t size, unsigned flags) {
	ENTER(true);
	if (flags > 1) return INVALID_VALUE;
	int r = allocate(p, size, false);
	if (r == SUCCESS) count(HOSTS, 1);
	return r;
}

EXPORT int hipHostFree(void *p) {
	ENTER(true);
	int r = release(p, false);
	if (r == SUCCESS) count(HOSTS, -1);
	return r;
}

static char pool;
static uint64_t threshold;

EXPORT int hipDeviceGetDefaultMemPool(void **out, int device) {
	ENTER(false);
	if (!valid(device)) return INVALID_DEVICE;
	*out = &pool;
	return SUCCESS;
}

EXPORT int hipMemPoolSetAttribute(void *p, int attribute, void *value) {
	ENTER(false);
	if (p != &pool || attribute != 4) return INVALID_VALUE;
	memcpy(&threshold, value, sizeof threshold);
	return SUCCESS;
}

EXPORT int hipMemPoolGetAttribute(void *p, int attribute, void *value) {
	ENTER(false);
	if (p != &pool) return INVALID_VALUE;
	std::lock_guard<std::mutex> lock(mu);
	uint64_t v = attribute == 4 ? threshold : memory_used();
	memcpy(value, &v, sizeof v);
	return SUCCESS;
}

EXPORT int hipMemPoolTrimTo(void *p, size_t) {
	ENTER(false);
	return p == &pool ? SUCCESS : INVALID_VALUE;
}

// ---- copies --------------------------------------------------------------------------

enum Kind { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, DEVICE_TO_DEVICE = 3, BY_ADDRESS = 4 };

// copy_work refuses memory that is not ours: the real runtime takes Go memory too, but
// an asynchronous copy of it is what must not happen.
int copy_work(std::function<void()> &work, void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height, int kind) {
	if (kind < HOST_TO_DEVICE || kind > BY_ADDRESS) return INVALID_VALUE;
	int to = kind == BY_ADDRESS ? -1 : kind != DEVICE_TO_HOST, from = kind == BY_ADDRESS ? -1 : kind != HOST_TO_DEVICE;
	if (width == 0 || height == 0 || width > dst_pitch || width > src_pitch) return INVALID_VALUE;
	if (!spans(dst, (height - 1) * dst_pitch + width, to)) return refuse(INVALID_VALUE, "the destination is not in one allocation of that kind");
	if (!spans(src, (height - 1) * src_pitch + width, from)) return refuse(INVALID_VALUE, "the source is not in one allocation of that kind");
	work = [=] {
		for (size_t y = 0; y < height; y++) memmove((char *)dst + y * dst_pitch, (const char *)src + y * src_pitch, width);
	};
	return SUCCESS;
}

int fill_work(std::function<void()> &work, void *dst, unsigned char value, size_t size) {
	if (!spans(dst, size, 1)) return refuse(INVALID_VALUE, "the range is not in one allocation of the device");
	work = [=] { memset(dst, value, size); };
	return SUCCESS;
}

static int copy(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height, int kind, void *stream) {
	if (!stream_ok(stream)) return INVALID_HANDLE;
	std::function<void()> work;
	int r = copy_work(work, dst, dst_pitch, src, src_pitch, width, height, kind);
	if (r == SUCCESS) submit(work);
	return r;
}

EXPORT int hipMemcpyAsync(void *dst, const void *src, size_t size, int kind, void *stream) {
	ENTER(true);
	return copy(dst, size, src, size, size, 1, kind, stream);
}

// The memory of all devices is the host's; the devices are two that there are.
EXPORT int hipMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t size, void *stream) {
	ENTER(true);
	if (to == from || !valid(to) || !valid(from)) return INVALID_DEVICE;
	return copy(dst, size, src, size, size, 1, BY_ADDRESS, stream);
}

EXPORT int hipMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height, int kind, void *stream) {
	ENTER(true);
	return copy(dst, dst_pitch, src, src_pitch, width, height, kind, stream);
}

EXPORT int hipMemsetD8Async(void *dst, unsigned char value, size_t size, void *stream) {
	ENTER(true);
	if (!stream_ok(stream)) return INVALID_HANDLE;
	std::function<void()> work;
	int r = fill_work(work, dst, value, size);
	if (r == SUCCESS) submit(work);
	return r;
}
