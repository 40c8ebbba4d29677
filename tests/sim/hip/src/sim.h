// The parts of the simulator: what they offer each other.
//
//   control.cpp  what tests order and read, errors
//   memory.cpp   device memory and page-locked memory, checked
//   queue.cpp    streams and events: one queue that a thread works off
//   block.cpp    the threads of a block as fibers, barriers, wave operations
//   clang.cpp    runs clang
//   module.cpp   hipRTC on clang, code objects, launches
//   hip.cpp      the functions of libamdhip64
//   graph.cpp    graphs
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

enum Result : int {
	SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_CONFIGURATION = 9,
	NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NO_BINARY = 209,
	INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, LAUNCH_FAILURE = 719, TOO_LARGE = 720
};

// ---- control.cpp
extern std::mutex mu; // guards all state that is not said to be otherwise

// enter counts a call of a function and returns the error that was ordered, if
// any, or the error of a lost device. uses_device: the function works on the
// calling thread's device, which hipSetDevice has to have named before each call.
int enter(const char *name, bool uses_device);
int device_now(); // the device of the call that enter has let in

#define ENTER(uses_device) \
	do { \
		int entered = enter(__func__, uses_device); \
		if (entered != SUCCESS) return entered; \
	} while (0)

// refuse returns code and keeps text for hipGetErrorString to add.
int refuse(int code, const std::string &text);
// lose makes every later call on a device fail with code: a kernel has gone wrong.
void lose(int device, int code, const std::string &text);
int lost(int device);

enum Live { HOSTS, STREAMS, EVENTS, MODULES, GRAPHS, LIVE_KINDS };
void count(Live what, int n);
int setting(const char *name); // "devices", "pools", "delay_us", "strict", "hip7", "cooperative"

// Arch is a kind of device that can be simulated.
struct Arch {
	const char *name, *model;
	int wave, units, lds;
};
int device_count();
const Arch &arch_of(int device);

// ---- memory.cpp, all with mu held
int memory_alloc(uint64_t *out, size_t size, bool device);
bool memory_free(uint64_t at, bool device); // false: no such allocation
void memory_forget(int owner); // all of a device that was lost
// inside reports whether a range lies in one allocation, of the kind if given.
bool inside(uint64_t at, uint64_t size, int device = -1);
bool begins(uint64_t at, bool device);
// damaged returns the text of damage around the allocations of a device, "" if
// there is none.
std::string damaged(int owner);
size_t memory_limit(), memory_used();
void set_memory_limit(size_t);

// ---- queue.cpp
struct Stream {
	int device;
};
struct Event {
	std::atomic<uint64_t> seq{0}; // 0: never recorded
	double when = 0;  // milliseconds
	bool timing = true;
};
// submit queues work of the device of this call; one that is done on a lost device
// too is marked.
uint64_t submit(std::function<void()> work, bool always = false);
uint64_t latest();
int wait_for(uint64_t seq); // returns the error of the device of this call
bool reached(uint64_t seq);
// stream_ok reports whether a handle is a stream of the device of this call.
bool stream_ok(void *s);

// ---- block.cpp
struct Kernel {
	std::string name;
	void (*call)(const unsigned char *args);
	size_t size;
	char *lds;
	size_t lds_size;
	int device;
	bool fences = false; // its barriers order no memory by themselves
	char *dynamic = nullptr; // memory of dynamic_room bytes for what launches ask for, nullptr if it uses none
	// Where each parameter lies in the block of arguments, and its size.
	const unsigned long *param_at = nullptr, *param_size = nullptr;
	size_t params = 0;
};
constexpr size_t dynamic_room = 68 << 10; // what a block can have, and what nothing may write to
// run_grid runs a kernel with so many bytes of dynamic shared memory and returns the text of what went wrong,
// with its code. together: all blocks are resident, and may wait for each other.
std::string run_grid(const Kernel &k, const uint32_t grid[3], const uint32_t block[3], int wave, size_t shared, const unsigned char *args, int *code, bool together = false);

// ---- what streams and graphs do: each checks its parameters, as the call of the
// runtime does, and gives out the work
int kernel_work(std::function<void()> &work, void *function, const uint32_t grid[3], const uint32_t block[3], unsigned shared, void *stream, void **params, void **extra, bool together = false);
int copy_work(std::function<void()> &work, void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height, int kind);
int fill_work(std::function<void()> &work, void *dst, unsigned char value, size_t size);
