// What the simulator puts before the HIP text of a kernel, so that clang for this
// machine takes it as C++. The text of the kernel says `#ifndef __global__` and so
// on; these definitions come first. KILN_SIM_WAVE is the width of a wave.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static __attribute__((section("kiln_lds"), used))
#define __launch_bounds__(...)
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#define __AMDGCN_WAVEFRONT_SIZE KILN_SIM_WAVE
#define __AMDGCN_WAVEFRONT_SIZE__ KILN_SIM_WAVE

extern "C" {
// The thread that runs now, and the packet that started its kernel.
struct kiln_sim_thread {
	unsigned id[3], block[3], lane;
};
extern const kiln_sim_thread *kiln_sim_here;
extern unsigned char kiln_sim_packet[64];

// Where the threads of a wave or of a block meet. A place is told by a number.
unsigned long kiln_sim_wave(int kind, unsigned value, unsigned operand, int site, int line);
// A matrix instruction: computes the product of the operands of all lanes of a wave, or says what is wrong.
typedef const char *kiln_sim_product(void *const *operands);
void kiln_sim_multiply(kiln_sim_product *product, void *operands, int site, int line);
void kiln_sim_barrier(int site, int line);
void kiln_sim_fence(int order, int width);
void kiln_sim_turn(void);
unsigned long kiln_sim_clock(void);

// The shared memory of the module. The linker knows where it begins and ends.
extern char __start_kiln_lds[] __attribute__((weak, visibility("hidden")));
extern char __stop_kiln_lds[] __attribute__((weak, visibility("hidden")));
}

// How far a fence reaches. A barrier orders no memory by itself on these devices: it needs a
// release fence before it and an acquire fence behind it, which reach as far as it does.
enum { kiln_sim_thread_wide, kiln_sim_wave_wide, kiln_sim_block_wide };
constexpr int kiln_sim_width(const char *scope) {
	return scope[0] == 's' && scope[1] == 'i' ? kiln_sim_thread_wide : scope[0] == 'w' && scope[1] == 'a' ? kiln_sim_wave_wide : kiln_sim_block_wide;
}

enum { kiln_sim_ballot, kiln_sim_permute, kiln_sim_first, kiln_sim_lane, kiln_sim_meet, kiln_sim_matrix };

#define __builtin_amdgcn_workitem_id_x() (kiln_sim_here->id[0])
#define __builtin_amdgcn_workitem_id_y() (kiln_sim_here->id[1])
#define __builtin_amdgcn_workitem_id_z() (kiln_sim_here->id[2])
#define __builtin_amdgcn_workgroup_id_x() (kiln_sim_here->block[0])
#define __builtin_amdgcn_workgroup_id_y() (kiln_sim_here->block[1])
#define __builtin_amdgcn_workgroup_id_z() (kiln_sim_here->block[2])
#define __builtin_amdgcn_dispatch_ptr() ((__attribute__((address_space(4))) void *)kiln_sim_packet)
#define __builtin_amdgcn_wavefrontsize() ((unsigned)KILN_SIM_WAVE)

#define __builtin_amdgcn_s_barrier() kiln_sim_barrier(__COUNTER__, __LINE__)
#define __builtin_amdgcn_wave_barrier() ((void)kiln_sim_wave(kiln_sim_meet, 0, 0, __COUNTER__, __LINE__))
#define __builtin_amdgcn_fence(order, scope, ...) (kiln_sim_fence(order, kiln_sim_width(scope)), __atomic_thread_fence(order))
#define __hip_atomic_load(p, order, scope) (kiln_sim_turn(), __hip_atomic_load(p, order, scope))
// A wave has one width: the other ballot needs a feature that the device lacks.
#if KILN_SIM_WAVE == 64
#define __builtin_amdgcn_ballot_w64(x) kiln_sim_wave(kiln_sim_ballot, (bool)(x), 0, __COUNTER__, __LINE__)
#else
#define __builtin_amdgcn_ballot_w32(x) ((unsigned)kiln_sim_wave(kiln_sim_ballot, (bool)(x), 0, __COUNTER__, __LINE__))
#endif
#define __builtin_amdgcn_ds_bpermute(address, x) ((int)kiln_sim_wave(kiln_sim_permute, (unsigned)(int)(x), (unsigned)(int)(address), __COUNTER__, __LINE__))
#define __builtin_amdgcn_readfirstlane(x) ((int)kiln_sim_wave(kiln_sim_first, (unsigned)(int)(x), 0, __COUNTER__, __LINE__))
#define __builtin_amdgcn_readlane(x, from) ((int)kiln_sim_wave(kiln_sim_lane, (unsigned)(int)(x), (unsigned)(int)(from), __COUNTER__, __LINE__))
#define __builtin_amdgcn_s_memrealtime() kiln_sim_clock()
#define __builtin_amdgcn_s_sendmsg_rtnl(what) kiln_sim_clock()
#define __builtin_amdgcn_s_sleep(n) ((void)(n))

// V_FRACT_F32 stays below one; V_SIN_F32 and V_COS_F32 count in turns.
static inline float __builtin_amdgcn_fractf(float x) {
	float y = x - __builtin_floorf(x);
	return y < 1 ? y : y == 1 ? 0x1.fffffep-1f : y;
}
static inline float __builtin_amdgcn_sinf(float turns) { return (float)__builtin_sin(6.283185307179586 * (turns - __builtin_floorf(turns))); }
static inline float __builtin_amdgcn_cosf(float turns) { return (float)__builtin_cos(6.283185307179586 * (turns - __builtin_floorf(turns))); }

static inline unsigned __builtin_amdgcn_mbcnt_lo(unsigned mask, unsigned base) {
	unsigned lane = kiln_sim_here->lane;
	return base + (unsigned)__builtin_popcount(lane < 32 ? mask & ((1u << lane) - 1) : mask);
}

static inline unsigned __builtin_amdgcn_mbcnt_hi(unsigned mask, unsigned base) {
	unsigned lane = kiln_sim_here->lane;
	return lane < 32 ? base : base + (unsigned)__builtin_popcount(mask & ((1u << (lane - 32)) - 1));
}

// V_PERM_B32: each byte of the selector picks a byte of high:low or a constant.
static inline unsigned __builtin_amdgcn_perm(unsigned high, unsigned low, unsigned select) {
	unsigned long both = (unsigned long)high << 32 | low;
	unsigned out = 0;
	for (int i = 0; i < 4; i++) {
		unsigned s = select >> (8 * i) & 255, byte = 0;
		if (s < 8) byte = (unsigned)(both >> (8 * s)) & 255;
		else if (s < 12) byte = both >> (16 * (s - 8) + 15) & 1 ? 255 : 0;
		else if (s > 12) byte = 255;
		out |= byte << (8 * i);
	}
	return out;
}

static inline int kiln_sim_dot4(bool as, unsigned a, bool bs, unsigned b, int c, bool clamp) {
	long sum = c;
	for (int i = 0; i < 32; i += 8) {
		int x = as ? (int)(signed char)(a >> i) : (int)(a >> i & 255), y = bs ? (int)(signed char)(b >> i) : (int)(b >> i & 255);
		sum += x * y;
	}
	if (clamp) sum = sum > 2147483647l ? 2147483647l : sum < -2147483648l ? -2147483648l : sum;
	return (int)(unsigned)sum;
}

#define __builtin_amdgcn_sudot4(as, a, bs, b, c, clamp) kiln_sim_dot4(as, (unsigned)(a), bs, (unsigned)(b), (int)(c), clamp)
#define __builtin_amdgcn_sdot4(a, b, c, clamp) kiln_sim_dot4(true, (unsigned)(a), true, (unsigned)(b), (int)(c), clamp)

static inline unsigned __builtin_amdgcn_udot4(unsigned a, unsigned b, unsigned c, bool clamp) {
	unsigned long sum = c;
	for (int i = 0; i < 32; i += 8) sum += (unsigned long)((a >> i & 255) * (b >> i & 255));
	return clamp && sum > 0xffffffffu ? 0xffffffffu : (unsigned)sum;
}

#include "matrix.h"

// ---- how the simulator calls a kernel ----------------------------------------

// A kernel as the simulator sees it: a function of the packed arguments.
struct kiln_sim_kernel {
	const char *name;
	void (*call)(const unsigned char *args);
	unsigned long size; // of the arguments, without what is empty and behind them
	const unsigned long *at, *sizes; // of each parameter
	unsigned long count;
};

template <class T> static inline T kiln_sim_load(const unsigned char *p) {
	T v;
	__builtin_memcpy(&v, p, sizeof v);
	return v;
}

template <class... A> struct kiln_sim_layout {
	unsigned long at[sizeof...(A) + 1] = {}, size[sizeof...(A) + 1] = {}, end = 0, used = 0; // used: without empty ones at the end
	constexpr kiln_sim_layout() {
		constexpr unsigned long sizes[] = {sizeof(A)..., 0}, aligns[] = {alignof(A)..., 1};
		constexpr bool empty[] = {__is_empty(A)..., true};
		for (unsigned long i = 0; i < sizeof...(A); i++) {
			at[i] = (end + aligns[i] - 1) / aligns[i] * aligns[i];
			end = at[i] + sizes[i], size[i] = sizes[i];
			if (!empty[i]) used = end;
		}
	}
};

template <class T, T... I> struct kiln_sim_indices {};

template <auto F> struct kiln_sim_thunk;

template <class... A, void (*F)(A...)> struct kiln_sim_thunk<F> {
	static constexpr kiln_sim_layout<A...> layout = {};
	static constexpr unsigned long count = sizeof...(A);
	template <unsigned long... I> static void spread(const unsigned char *p, kiln_sim_indices<unsigned long, I...>) { F(kiln_sim_load<A>(p + layout.at[I])...); }
	static void call(const unsigned char *p) { spread(p, __make_integer_seq<kiln_sim_indices, unsigned long, sizeof...(A)>()); }
};
