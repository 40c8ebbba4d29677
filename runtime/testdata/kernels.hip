// The kernels that the runtime's tests launch, as HIP text that needs no header:
// hipRTC, clang -x hip -nogpuinc -nogpulib and the simulator take it.
#ifndef __global__
#define __global__ __attribute__((global))
#endif
#ifndef __device__
#define __device__ __attribute__((device))
#endif
#ifndef __shared__
#define __shared__ __attribute__((shared))
#endif
#pragma clang fp contract(off)

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

// Sizes are in the packet that started the kernel.
static __device__ inline u32 block_dim() { return ((const unsigned short*)__builtin_amdgcn_dispatch_ptr())[2]; }
static __device__ inline u32 grid_size() { return ((const u32*)__builtin_amdgcn_dispatch_ptr())[3]; }

// clock counts at 100 MHz.
static __device__ inline u64 clock() {
#if defined(__gfx1100__) || defined(__gfx1201__)
	return __builtin_amdgcn_s_sendmsg_rtnl(0x83);
#else
	return __builtin_amdgcn_s_memrealtime();
#endif
}

// y[i] += a*x[i]
extern "C" __global__ void saxpy(float* y, i64 ny, const float* x, i64 nx, float a) {
	i64 step = grid_size();
	for (i64 i = (i64)__builtin_amdgcn_workgroup_id_x() * block_dim() + __builtin_amdgcn_workitem_id_x(); i < ny; i += step)
		y[i] = __builtin_fmaf(a, x[i], y[i]);
}

// returns after that time
extern "C" __global__ void spin(u64 ns) {
	u64 start = clock();
	while ((clock() - start) * 10 < ns)
		__builtin_amdgcn_s_sleep(1);
}

// writes to the address p
extern "C" __global__ void fault(u64 p) { *(volatile int*)p = 42; }

// writes a record to the device log, with the value if the site is 1
extern "C" __global__ void note(u64 site, u64 value, u32* counts, u64, u64* log, u64 words, u64 launch) {
	u32 n = site == 1 ? 6 : 5;
	u64 at = __hip_atomic_fetch_add(counts, n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	if (at + n > words) {
		__hip_atomic_fetch_add(counts + 1, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
		__hip_atomic_fetch_add(counts + 2, site == 2 ? 1u : 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
		return;
	}
	u64* r = log + at;
	r[0] = site, r[1] = launch, r[2] = r[3] = r[4] = 0;
	if (site == 1) r[5] = value;
}

// as little as a kernel can do
extern "C" __global__ void nothing() {}

// meets all blocks of the grid once; the words are zero before
extern "C" __global__ void meet(u32* words, u64) {
	if (__builtin_amdgcn_workitem_id_x() != 0) return;
	u32 blocks = grid_size() / block_dim();
	__hip_atomic_fetch_add(words, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
	while (__hip_atomic_load(words, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != blocks) {}
}
