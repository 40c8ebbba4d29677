// Buffers. Kernels see the memory at another address than the host, and only while
// the buffer is resident.
#include "device.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace {
constexpr size_t page = 4096;
size_t used; // guarded by mu
std::mutex residence;
}

size_t memory_limit() {
	std::lock_guard<std::mutex> lock(mu);
	int mib = setting("memory");
	return (size_t)(mib ? mib : 1024) << 20;
}

size_t memory_used() {
	std::lock_guard<std::mutex> lock(mu);
	return used;
}

Buffer *new_buffer(size_t size, bool hidden) {
	if (size == 0) return problem("newBufferWithLength: the length is zero"), nullptr;
	if (fails("newBufferWithLength") || memory_used() + size > memory_limit()) return nullptr;
	size_t whole = (size + page - 1) / page * page;
	int fd = memfd_create("buffer", 0);
	if (fd < 0 || ftruncate(fd, (off_t)whole) != 0) return nullptr;
	char *cpu = (char *)mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *gpu = (char *)mmap(nullptr, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (cpu == MAP_FAILED || gpu == MAP_FAILED) return nullptr;
	mmap(gpu + page, whole, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
	Buffer *b = new Buffer;
	b->hidden = hidden;
	b->size = size, b->whole = whole, b->cpu_base = cpu, b->gpu_base = gpu + page;
	size_t slack = (whole - size) / 256 * 256; // the end of the buffer is close to what cannot be touched
	b->cpu = cpu + slack, b->gpu = (uint64_t)(gpu + page + slack);
	std::lock_guard<std::mutex> lock(mu);
	used += size;
	return b;
}

void Buffer::resident(bool yes) {
	std::lock_guard<std::mutex> lock(residence);
	users += yes ? 1 : -1;
	mprotect(gpu_base, whole, users > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void Buffer::close() {
	munmap(cpu_base, whole), munmap(gpu_base - page, whole + 2 * page);
	std::lock_guard<std::mutex> lock(mu);
	used -= size;
}
