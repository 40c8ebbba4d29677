// What hipRTC's stand-in puts before HIP text, so that NVRTC takes it as CUDA C++:
// the builtins of clang that the text uses, for warps of 32 lanes. What hardware
// and compiler of NVIDIA round differently by themselves is asked for by name.

// NVRTC knows these words itself; the text looks whether they are macros.
#ifndef __global__
#define __global__ __global__
#endif
#ifndef __device__
#define __device__ __device__
#endif
#ifndef __shared__
#define __shared__ __shared__
#endif
#ifndef __constant__
#define __constant__ __constant__
#endif
#define __gfx1030__ 1

// Functions of the text that have the name of one of CUDA's.
#define clock text_clock
#define ballot text_ballot

#define KILN_FN static __device__ __forceinline__
typedef unsigned int kiln_u32;
typedef unsigned long long kiln_u64;

// ---- numbers ---------------------------------------------------------------------

#define _Float16 kiln_f16
struct kiln_f16 {
	unsigned short bits;
	kiln_f16() = default;
	__device__ __forceinline__ kiln_f16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
	__device__ __forceinline__ operator float() const {
		float x;
		asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
		return x;
	}
};

// The text's casts of expressions to i16. ptxas 13.0 takes a negated 16-bit value for
// 32768 where it is widened and should be -32768, and NVVM makes negations of some
// products: both see 32-bit arithmetic only.
template <class T> KILN_FN short kiln_i16(T x) {
	int y;
	asm("cvt.s32.s16 %0, %1;" : "=r"(y) : "r"((kiln_u32)x));
	return (short)y;
}

template <class T, class F> KILN_FN T kiln_bit_cast(F x) {
	static_assert(sizeof(T) == sizeof(F), "a bit cast between types of different sizes");
	T y;
	memcpy(&y, &x, sizeof y);
	return y;
}
#define __builtin_bit_cast(T, x) kiln_bit_cast<T>(x)

#define __builtin_fmaf __fmaf_rn
#define __builtin_fma __fma_rn
#define __builtin_sqrtf __fsqrt_rn
#define __builtin_sqrt __dsqrt_rn
#define __builtin_fabsf fabsf
#define __builtin_fabs fabs
#define __builtin_floorf floorf
#define __builtin_floor floor
#define __builtin_ceilf ceilf
#define __builtin_ceil ceil
#define __builtin_truncf truncf
#define __builtin_trunc trunc
#define __builtin_rintf rintf
#define __builtin_rint rint
#define __builtin_copysignf copysignf
#define __builtin_copysign copysign
#define __builtin_exp2f exp2f
#define __builtin_log2f log2f
#define __builtin_amdgcn_sinf(turns) sinpif(2.0f * (turns))
#define __builtin_amdgcn_cosf(turns) cospif(2.0f * (turns))

// V_FRACT_F32 stays below one.
KILN_FN float kiln_fract(float x) {
	float y = x - floorf(x);
	return y < 1.0f ? y : y == 1.0f ? __uint_as_float(0x3f7fffffu) : y;
}
#define __builtin_amdgcn_fractf kiln_fract

#define __builtin_popcount(x) __popc(x)
#define __builtin_popcountll(x) __popcll(x)
#define __builtin_clz(x) __clz((int)(x))
#define __builtin_clzll(x) __clzll((long long)(x))
#define __builtin_ctz(x) __clz((int)__brev(x))
#define __builtin_ctzll(x) __clzll((long long)__brevll(x))
#define __builtin_bitreverse32(x) __brev(x)
#define __builtin_bitreverse64(x) __brevll(x)
#define __builtin_trap() __trap()
#define __builtin_memcpy(to, from, n) memcpy(to, from, n)
#define __builtin_memset(to, x, n) memset(to, x, n)

// ---- where a thread is -------------------------------------------------------------

#define __builtin_amdgcn_workitem_id_x() threadIdx.x
#define __builtin_amdgcn_workitem_id_y() threadIdx.y
#define __builtin_amdgcn_workitem_id_z() threadIdx.z
#define __builtin_amdgcn_workgroup_id_x() blockIdx.x
#define __builtin_amdgcn_workgroup_id_y() blockIdx.y
#define __builtin_amdgcn_workgroup_id_z() blockIdx.z
#define __builtin_amdgcn_wavefrontsize() 32u

// The packet that starts a kernel, as far as the text reads it. It lives as long as
// the expression that names it.
struct kiln_packet {
	kiln_u32 words[6];
	__device__ __forceinline__ kiln_packet()
		: words{0, blockDim.x << 0 | blockDim.y << 16, blockDim.z, gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z} {}
	__device__ __forceinline__ const void *at() const { return words; }
};
#define __builtin_amdgcn_dispatch_ptr() (kiln_packet().at())

// It counts at 100 MHz, as the clock of an AMD GPU does.
KILN_FN kiln_u64 kiln_time() {
	kiln_u64 ns;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns / 10;
}
#define __builtin_amdgcn_s_memrealtime() kiln_time()
#define __builtin_amdgcn_s_sendmsg_rtnl(what) kiln_time()
#define __builtin_amdgcn_s_sleep(n) __nanosleep(64 * (n))

// ---- waves and blocks ----------------------------------------------------------------

#define KILN_ALL 0xffffffffu

KILN_FN kiln_u32 kiln_lane() {
	kiln_u32 x;
	asm("mov.u32 %0, %%laneid;" : "=r"(x));
	return x;
}
KILN_FN kiln_u32 kiln_mbcnt(kiln_u32 mask, kiln_u32 base) { return base + (kiln_u32)__popc(mask & ((1u << kiln_lane()) - 1u)); }
#define __builtin_amdgcn_mbcnt_lo(mask, base) kiln_mbcnt(mask, base)
#define __builtin_amdgcn_ballot_w32(x) __ballot_sync(KILN_ALL, (bool)(x))
#define __builtin_amdgcn_ds_bpermute(address, x) __shfl_sync(KILN_ALL, (int)(x), (int)((kiln_u32)(address) / 4u % 32u))
#define __builtin_amdgcn_readlane(x, lane) __shfl_sync(KILN_ALL, (int)(x), (int)(lane))
KILN_FN int kiln_first(int x) { return __shfl_sync(KILN_ALL, x, __ffs((int)__activemask()) - 1); }
#define __builtin_amdgcn_readfirstlane(x) kiln_first((int)(x))

#define __builtin_amdgcn_s_barrier() __syncthreads()
#define __builtin_amdgcn_wave_barrier() __syncwarp()
#define __builtin_amdgcn_fence(order, scope) (sizeof(scope) == sizeof("agent") ? __threadfence() : __threadfence_block())

// V_PERM_B32: each byte of the selector picks a byte of high:low or a constant.
KILN_FN kiln_u32 kiln_perm(kiln_u32 high, kiln_u32 low, kiln_u32 select) {
	kiln_u64 both = (kiln_u64)high << 32 | low;
	kiln_u32 out = 0;
	for (int i = 0; i < 4; i++) {
		kiln_u32 s = select >> (8 * i) & 255u, byte = 0;
		if (s < 8u) byte = (kiln_u32)(both >> (8u * s)) & 255u;
		else if (s < 12u) byte = both >> (16u * (s - 8u) + 15u) & 1u ? 255u : 0u;
		else if (s > 12u) byte = 255u;
		out |= byte << (8 * i);
	}
	return out;
}
#define __builtin_amdgcn_perm kiln_perm

// ---- atomics ---------------------------------------------------------------------------
// All of them are relaxed, and stand between fences where the text asks for an order. A device is
// the widest scope that it asks for.

#ifndef __ATOMIC_RELAXED
#define __ATOMIC_RELAXED 0
#define __ATOMIC_CONSUME 1
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_ACQ_REL 4
#define __ATOMIC_SEQ_CST 5
#endif
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5

// kiln_word is the unsigned integer that has the bits of a T.
template <int size> struct kiln_sized;
template <> struct kiln_sized<4> { typedef kiln_u32 word; };
template <> struct kiln_sized<8> { typedef kiln_u64 word; };
template <class T> using kiln_word = typename kiln_sized<sizeof(T)>::word;
template <class T> struct kiln_same { typedef T type; };
template <class T> using kiln_value = typename kiln_same<T>::type; // converted to what p points to

template <class T> KILN_FN T kiln_atomic_load(T *p) { return *(volatile T *)p; }
template <class T> KILN_FN void kiln_atomic_store(T *p, kiln_value<T> x) { *(volatile T *)p = x; }
template <class T> KILN_FN T kiln_atomic_exchange(T *p, kiln_value<T> x) {
	return kiln_bit_cast<T>(atomicExch((kiln_word<T> *)p, kiln_bit_cast<kiln_word<T>>(x)));
}
template <class T> KILN_FN bool kiln_atomic_cas(T *p, T *old, kiln_value<T> next) {
	T want = *old;
	*old = kiln_bit_cast<T>(atomicCAS((kiln_word<T> *)p, kiln_bit_cast<kiln_word<T>>(want), kiln_bit_cast<kiln_word<T>>(next)));
	return *old == want;
}
KILN_FN float kiln_atomic_add(float *p, float x) { return atomicAdd(p, x); }
KILN_FN double kiln_atomic_add(double *p, double x) { return atomicAdd(p, x); }
template <class T> KILN_FN T kiln_atomic_add(T *p, kiln_value<T> x) { return (T)atomicAdd((kiln_word<T> *)p, (kiln_word<T>)x); }
template <class T> KILN_FN T kiln_atomic_min(T *p, kiln_value<T> x) { return atomicMin(p, x); }
template <class T> KILN_FN T kiln_atomic_max(T *p, kiln_value<T> x) { return atomicMax(p, x); }
template <class T> KILN_FN T kiln_atomic_and(T *p, kiln_value<T> x) { return (T)atomicAnd((kiln_word<T> *)p, (kiln_word<T>)x); }
template <class T> KILN_FN T kiln_atomic_or(T *p, kiln_value<T> x) { return (T)atomicOr((kiln_word<T> *)p, (kiln_word<T>)x); }
template <class T> KILN_FN T kiln_atomic_xor(T *p, kiln_value<T> x) { return (T)atomicXor((kiln_word<T> *)p, (kiln_word<T>)x); }

KILN_FN void kiln_order(bool fenced) {
	if (fenced) __threadfence();
}
template <class T> KILN_FN T kiln_ordered(T x, int order) {
	kiln_order(order == __ATOMIC_ACQUIRE || order >= __ATOMIC_ACQ_REL);
	return x;
}
#define KILN_ORDER(x, order) (kiln_order((order) >= __ATOMIC_RELEASE), kiln_ordered(x, order))

#define __hip_atomic_load(p, order, scope) KILN_ORDER(kiln_atomic_load(p), order)
#define __hip_atomic_store(p, x, order, scope) (kiln_order((order) >= __ATOMIC_RELEASE), kiln_atomic_store(p, x))
#define __hip_atomic_exchange(p, x, order, scope) KILN_ORDER(kiln_atomic_exchange(p, x), order)
#define __hip_atomic_compare_exchange_strong(p, old, x, then, otherwise, scope) KILN_ORDER(kiln_atomic_cas(p, old, x), then)
#define __hip_atomic_fetch_add(p, x, order, scope) KILN_ORDER(kiln_atomic_add(p, x), order)
#define __hip_atomic_fetch_min(p, x, order, scope) KILN_ORDER(kiln_atomic_min(p, x), order)
#define __hip_atomic_fetch_max(p, x, order, scope) KILN_ORDER(kiln_atomic_max(p, x), order)
#define __hip_atomic_fetch_and(p, x, order, scope) KILN_ORDER(kiln_atomic_and(p, x), order)
#define __hip_atomic_fetch_or(p, x, order, scope) KILN_ORDER(kiln_atomic_or(p, x), order)
#define __hip_atomic_fetch_xor(p, x, order, scope) KILN_ORDER(kiln_atomic_xor(p, x), order)
