// Memory of the device and page-locked memory: pages of this process. A page that
// cannot be touched lies on either side of an allocation, and what is left of the
// allocation's own pages has a pattern, which has to be there when a kernel has
// ended. Freed memory cannot be touched either, and its addresses come back late.
#include "sim.h"

#include <cstring>
#include <deque>
#include <map>
#include <sys/mman.h>

namespace {

constexpr size_t page = 4096, align = 256;
constexpr unsigned char pattern = 0xA5, fresh = 0xAB;
constexpr size_t default_limit = size_t(4) << 30;
constexpr size_t parked_max = 4096; // freed allocations whose addresses are kept

struct Block {
	uint64_t at, size, base, span; // base and span of all pages, guards included
	bool device;
	int owner; // whose call made it
};

std::map<uint64_t, Block> blocks;
std::deque<Block> parked;
size_t limit = default_limit, used;

const Block *block_of(uint64_t at) {
	auto it = blocks.upper_bound(at);
	if (it == blocks.begin()) return nullptr;
	--it;
	return at < it->second.at + it->second.size ? &it->second : nullptr;
}

unsigned char *bytes(uint64_t at) { return (unsigned char *)(uintptr_t)at; }

// has_pattern is asked about all allocations after each kernel.
bool has_pattern(uint64_t from, uint64_t to) {
	return from >= to || (*bytes(from) == pattern && memcmp(bytes(from), bytes(from + 1), to - from - 1) == 0);
}

bool intact(const Block &b) { return has_pattern(b.base + page, b.at) && has_pattern(b.at + b.size, b.base + b.span - page); }

} // namespace

size_t memory_limit() { return limit; }
size_t memory_used() { return used; }
void set_memory_limit(size_t n) { limit = n ? n : default_limit; }

int memory_alloc(uint64_t *out, size_t size, bool device) {
	if (size == 0) return INVALID_VALUE;
	if (device && (size > limit || used > limit - size)) return OUT_OF_MEMORY;
	// The end is as near to the guard as alignment allows.
	size_t tail = (size + align - 1) / align * align, body = (tail + page - 1) / page * page;
	void *base = mmap(nullptr, body + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED) return OUT_OF_MEMORY;
	if (mprotect((char *)base + page, body, PROT_READ | PROT_WRITE) != 0) {
		munmap(base, body + 2 * page);
		return OUT_OF_MEMORY;
	}
	Block b = {0, size, (uint64_t)(uintptr_t)base, body + 2 * page, device, device_now()};
	b.at = b.base + page + body - tail;
	memset(bytes(b.base + page), pattern, b.at - b.base - page);
	memset(bytes(b.at), fresh, size < (1 << 20) ? size : 1 << 16); // a program that reads it sees no zeroes
	memset(bytes(b.at + size), pattern, tail - size);
	blocks[b.at] = b;
	if (device) used += size;
	*out = b.at;
	return SUCCESS;
}

bool memory_free(uint64_t at, bool device) {
	auto it = blocks.find(at);
	if (it == blocks.end() || it->second.device != device) return false;
	Block b = it->second;
	blocks.erase(it);
	if (device) used -= b.size;
	madvise(bytes(b.base), b.span, MADV_DONTNEED);
	mprotect(bytes(b.base), b.span, PROT_NONE);
	parked.push_back(b);
	if (parked.size() > parked_max) {
		munmap(bytes(parked.front().base), parked.front().span);
		parked.pop_front();
	}
	return true;
}

void memory_forget(int owner) {
	for (auto it = blocks.begin(); it != blocks.end();) {
		const Block b = (it++)->second;
		if (b.owner == owner) memory_free(b.at, b.device);
	}
}

bool inside(uint64_t at, uint64_t size, int device) {
	const Block *b = block_of(at);
	return b && size <= b->at + b->size - at && (device < 0 || b->device == (device != 0));
}

bool begins(uint64_t at, bool device) {
	auto it = blocks.find(at);
	return it != blocks.end() && it->second.device == device;
}

std::string damaged(int owner) {
	for (auto &[at, b] : blocks)
		if (b.device && b.owner == owner && !intact(b))
			return "memory next to an allocation of " + std::to_string(b.size) + " bytes was written";
	return "";
}
