// The kernels that the runtime's tests launch, in Metal's language. Metal has no
// clock: spin is for the simulator.
#include <metal_stdlib>
#pragma clang fp contract(off)

struct saxpy_args {
	device float* y;
	long ny;
	device const float* x;
	long nx;
	float a;
};

// y[i] += a*x[i]
kernel void saxpy(constant saxpy_args& args [[buffer(0)]], metal::uint3 thread_at [[thread_position_in_threadgroup]],
		metal::uint3 block_at [[threadgroup_position_in_grid]], metal::uint3 block_size [[threads_per_threadgroup]],
		metal::uint3 grid_size [[threadgroups_per_grid]]) {
	long step = (long)grid_size.x * block_size.x;
	for (long i = (long)block_at.x * block_size.x + thread_at.x; i < args.ny; i += step)
		args.y[i] = metal::fma(args.a, args.x[i], args.y[i]);
}

// returns after that time
kernel void spin(constant unsigned long& ns [[buffer(0)]]) {
	unsigned long start = kiln_metal_clock();
	while ((kiln_metal_clock() - start) * 10 < ns) {
	}
}

struct fault_args {
	device int* p;
};

// writes to the address p
kernel void fault(constant fault_args& args [[buffer(0)]]) { *(device volatile int*)args.p = 42; }

struct note_args {
	unsigned long site, value;
	device unsigned* counts;
	unsigned long four;
	device unsigned long* log;
	unsigned long words, launch;
};

// writes a record to the device log, with the value if the site is 1; it is run by
// one thread
kernel void note(constant note_args& args [[buffer(0)]]) {
	unsigned n = args.site == 1 ? 6 : 5, at = args.counts[0];
	args.counts[0] += n;
	if (at + n > args.words) {
		args.counts[1] += 1;
		args.counts[2] += args.site == 2 ? 1 : 0;
		return;
	}
	device unsigned long* r = args.log + at;
	r[0] = args.site, r[1] = args.launch, r[2] = r[3] = r[4] = 0;
	if (args.site == 1) r[5] = args.value;
}

// as little as a kernel can do
kernel void nothing() {}
