// A GPU on the CPU: the intrinsics of amdgcn (amd.*) and nvptx64 (nv.*) as functions. A block runs on one thread of the machine. Its
// threads are contexts of their own where they wait for each other, else they run
// one after another.
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

enum { MAX_THREADS = 1024, STACK = 64 << 10, BLOCK = MAX_THREADS };

#define AS(name) __asm__(name)

static uint32_t grid[3], block[3], at[3]; // at: the block that runs
static int threads, width, current, done;
static uint64_t progress;
static ucontext_t scheduler, context[MAX_THREADS];
static uint8_t stacks[MAX_THREADS][STACK], finished[MAX_THREADS];
static struct { int waiting; uint64_t generation; } group[MAX_THREADS + 1];
static uint32_t slot[MAX_THREADS];
static void (*kernel)(void *);
static void *arguments;

static int first(void) { return current - current % width; }
static int lane(void) { return current % width; }

// wait returns when size threads wait in group g.
static void wait(int g, int size) {
	uint64_t generation = group[g].generation;
	if (++group[g].waiting == size) {
		group[g].waiting = 0;
		group[g].generation++;
		progress++;
		return;
	}
	int self = current;
	while (group[g].generation == generation) {
		swapcontext(&context[self], &scheduler);
	}
}

static void wait_warp(void) {
	int size = threads - first() < width ? threads - first() : width;
	wait(first(), size);
}

static void wait_block(void) { wait(BLOCK, threads); }

static void thread(void) {
	kernel(arguments);
	finished[current] = 1;
	done++;
	progress++;
	swapcontext(&context[current], &scheduler);
}

// run_block returns 0, or 1 if threads wait for what never comes.
static int run_block(void) {
	memset(finished, 0, sizeof finished);
	memset(group, 0, sizeof group);
	for (int i = 0; i < threads; i++) {
		getcontext(&context[i]);
		context[i].uc_stack.ss_sp = stacks[i];
		context[i].uc_stack.ss_size = STACK;
		context[i].uc_link = 0;
		makecontext(&context[i], thread, 0);
	}
	for (done = 0; done < threads;) {
		uint64_t before = progress;
		for (int i = 0; i < threads; i++) {
			if (!finished[i]) {
				current = i;
				swapcontext(&scheduler, &context[i]);
			}
		}
		if (progress == before) {
			return 1;
		}
	}
	return 0;
}

// sim_run runs the function fn for each thread of a launch.
int sim_run(void (*fn)(void *), void *args, const uint32_t *dims, int warp, int together) {
	memcpy(grid, dims, sizeof grid);
	memcpy(block, dims + 3, sizeof block);
	threads = block[0] * block[1] * block[2];
	width = warp;
	kernel = fn;
	arguments = args;
	for (at[2] = 0; at[2] < grid[2]; at[2]++) {
		for (at[1] = 0; at[1] < grid[1]; at[1]++) {
			for (at[0] = 0; at[0] < grid[0]; at[0]++) {
				if (together && run_block()) {
					return 1;
				}
				for (current = 0; !together && current < threads; current++) {
					fn(args);
				}
			}
		}
	}
	return 0;
}

static uint32_t thread_x(void) { return current % block[0]; }
static uint32_t thread_y(void) { return current / block[0] % block[1]; }
static uint32_t thread_z(void) { return current / block[0] / block[1]; }

static uint32_t exchange(uint32_t value, uint32_t from) {
	slot[current] = value;
	wait_warp();
	uint32_t i = first() + from % width, result = (int)i < threads ? slot[i] : 0;
	wait_warp();
	return result;
}

static uint64_t votes(int yes) {
	slot[current] = yes;
	wait_warp();
	uint64_t set = 0;
	for (int i = 0; i < width && first() + i < threads; i++) {
		set |= (uint64_t)slot[first() + i] << i;
	}
	wait_warp();
	return set;
}

// AMD: "RDNA3" and "MI300" instruction set manuals, V_PERM_B32, V_MBCNT_*,
// DS_BPERMUTE_B32; LLVM's AMDGPU user guide for the implicit arguments.

#define INDEX(name, value) uint32_t name(void) AS("amd." value)
INDEX(amd_tx, "workitem.id.x"); uint32_t amd_tx(void) { return thread_x(); }
INDEX(amd_ty, "workitem.id.y"); uint32_t amd_ty(void) { return thread_y(); }
INDEX(amd_tz, "workitem.id.z"); uint32_t amd_tz(void) { return thread_z(); }
INDEX(amd_bx, "workgroup.id.x"); uint32_t amd_bx(void) { return at[0]; }
INDEX(amd_by, "workgroup.id.y"); uint32_t amd_by(void) { return at[1]; }
INDEX(amd_bz, "workgroup.id.z"); uint32_t amd_bz(void) { return at[2]; }

void *amd_implicit(void) AS("amd.implicitarg.ptr");
void *amd_implicit(void) {
	static struct { uint32_t blocks[3]; uint16_t size[3]; } implicit;
	for (int i = 0; i < 3; i++) {
		implicit.blocks[i] = grid[i];
		implicit.size[i] = block[i];
	}
	return &implicit;
}

uint32_t amd_mbcnt_lo(uint32_t, uint32_t) AS("amd.mbcnt.lo");
uint32_t amd_mbcnt_lo(uint32_t mask, uint32_t n) {
	return n + __builtin_popcount(lane() < 32 ? mask & ((1u << lane()) - 1) : mask);
}
uint32_t amd_mbcnt_hi(uint32_t, uint32_t) AS("amd.mbcnt.hi");
uint32_t amd_mbcnt_hi(uint32_t mask, uint32_t n) {
	return n + (lane() < 32 ? 0 : __builtin_popcount(mask & ((1u << (lane() - 32)) - 1)));
}

uint32_t amd_bpermute(uint32_t, uint32_t) AS("amd.ds.bpermute");
uint32_t amd_bpermute(uint32_t address, uint32_t value) { return exchange(value, address / 4); }
uint32_t amd_ballot32(_Bool) AS("amd.ballot.i32");
uint32_t amd_ballot32(_Bool yes) { return votes(yes); }
uint64_t amd_ballot64(_Bool) AS("amd.ballot.i64");
uint64_t amd_ballot64(_Bool yes) { return votes(yes); }
void amd_barrier(void) AS("amd.s.barrier");
void amd_barrier(void) { wait_block(); }
void amd_wave_barrier(void) AS("amd.wave.barrier");
void amd_wave_barrier(void) { wait_warp(); }

uint32_t amd_perm(uint32_t, uint32_t, uint32_t) AS("amd.perm");
uint32_t amd_perm(uint32_t high, uint32_t low, uint32_t select) {
	uint64_t all = (uint64_t)high << 32 | low;
	uint32_t result = 0;
	for (int i = 0; i < 4; i++) {
		uint32_t s = select >> 8 * i & 255, b;
		if (s < 8) {
			b = all >> 8 * s & 255;
		} else if (s < 12) {
			b = all >> (16 * (s - 8) + 15) & 1 ? 255 : 0;
		} else {
			b = s == 12 ? 0 : 255;
		}
		result |= b << 8 * i;
	}
	return result;
}

// NVIDIA: PTX ISA.

#define SREG(name, value) uint32_t name(void) AS("nv.read.ptx.sreg." value)
SREG(nv_tx, "tid.x"); uint32_t nv_tx(void) { return thread_x(); }
SREG(nv_ty, "tid.y"); uint32_t nv_ty(void) { return thread_y(); }
SREG(nv_tz, "tid.z"); uint32_t nv_tz(void) { return thread_z(); }
SREG(nv_bx, "ctaid.x"); uint32_t nv_bx(void) { return at[0]; }
SREG(nv_by, "ctaid.y"); uint32_t nv_by(void) { return at[1]; }
SREG(nv_bz, "ctaid.z"); uint32_t nv_bz(void) { return at[2]; }
SREG(nv_nx, "ntid.x"); uint32_t nv_nx(void) { return block[0]; }
SREG(nv_ny, "ntid.y"); uint32_t nv_ny(void) { return block[1]; }
SREG(nv_nz, "ntid.z"); uint32_t nv_nz(void) { return block[2]; }
SREG(nv_gx, "nctaid.x"); uint32_t nv_gx(void) { return grid[0]; }
SREG(nv_gy, "nctaid.y"); uint32_t nv_gy(void) { return grid[1]; }
SREG(nv_gz, "nctaid.z"); uint32_t nv_gz(void) { return grid[2]; }
SREG(nv_lane, "laneid"); uint32_t nv_lane(void) { return lane(); }

uint32_t nv_shfl(uint32_t, uint32_t, uint32_t, uint32_t) AS("nv.shfl.sync.idx.i32");
uint32_t nv_shfl(uint32_t mask, uint32_t value, uint32_t from, uint32_t clamp) { return exchange(value, from & 31); }
uint32_t nv_ballot(uint32_t, _Bool) AS("nv.vote.ballot.sync");
uint32_t nv_ballot(uint32_t mask, _Bool yes) { return votes(yes); }
_Bool nv_any(uint32_t, _Bool) AS("nv.vote.any.sync");
_Bool nv_any(uint32_t mask, _Bool yes) { return votes(yes) != 0; }
_Bool nv_all(uint32_t, _Bool) AS("nv.vote.all.sync");
_Bool nv_all(uint32_t mask, _Bool yes) { return votes(!yes) == 0; }
void nv_barrier(void) AS("nv.barrier0");
void nv_barrier(void) { wait_block(); }
void nv_warp_barrier(uint32_t) AS("nv.bar.warp.sync");
void nv_warp_barrier(uint32_t mask) { wait_warp(); }
void nv_membar_gl(void) AS("nv.membar.gl");
void nv_membar_gl(void) {}
void nv_membar_cta(void) AS("nv.membar.cta");
void nv_membar_cta(void) {}

uint32_t nv_prmt(uint32_t, uint32_t, uint32_t) AS("nv.prmt");
uint32_t nv_prmt(uint32_t low, uint32_t high, uint32_t select) {
	uint64_t all = (uint64_t)high << 32 | low;
	uint32_t result = 0;
	for (int i = 0; i < 4; i++) {
		uint32_t s = select >> 4 * i & 15, b = all >> 8 * (s & 7) & 255;
		if (s & 8) {
			b = b & 128 ? 255 : 0;
		}
		result |= b << 8 * i;
	}
	return result;
}

float nv_ex2(float) AS("nv.ex2.approx.ftz.f");
float nv_ex2(float x) { float y = exp2f(x); return y < 0x1p-126f ? 0 : y; } // .ftz
float nv_lg2(float) AS("nv.lg2.approx.f");
float nv_lg2(float x) { return log2f(x); }
float nv_sin(float) AS("nv.sin.approx.f");
float nv_sin(float x) { return sinf(x); }
float nv_cos(float) AS("nv.cos.approx.f");
float nv_cos(float x) { return cosf(x); }
float nv_sqrt(float) AS("nv.sqrt.approx.f");
float nv_sqrt(float x) { return sqrtf(x); }
float nv_rsqrt(float) AS("nv.rsqrt.approx.f");
float nv_rsqrt(float x) { return (float)(1 / sqrt((double)x)); }

// Instructions that stand in the text.
uint32_t nv_wrap(uint32_t) AS("nv.wrap");
uint32_t nv_wrap(uint32_t x) { return (int16_t)x; }
uint32_t nv_pick(uint32_t, uint32_t, _Bool) AS("nv.pick");
uint32_t nv_pick(uint32_t a, uint32_t b, _Bool first) { return first ? a : b; }

uint64_t nv_pick64(uint64_t, uint64_t, _Bool) AS("nv.pick64");
uint64_t nv_pick64(uint64_t a, uint64_t b, _Bool first) { return first ? a : b; }
uint32_t nv_same(uint32_t) AS("nv.same");
uint32_t nv_same(uint32_t x) { return x; }
uint64_t nv_same64(uint64_t) AS("nv.same64");
uint64_t nv_same64(uint64_t x) { return x; }

uint32_t nv_less(uint32_t, uint32_t) AS("nv.less");
uint32_t nv_less(uint32_t a, uint32_t b) { return a < b; }

#define EXTREMUM(id, value, t, op) \
	uint32_t id(uint32_t, uint32_t) AS("nv." value); \
	uint32_t id(uint32_t a, uint32_t b) { return (t)a op (t)b ? a : b; }
EXTREMUM(nv_lt_s32, "lt.s32", int32_t, <)
EXTREMUM(nv_lt_u32, "lt.u32", uint32_t, <)
EXTREMUM(nv_gt_s32, "gt.s32", int32_t, >)
EXTREMUM(nv_gt_u32, "gt.u32", uint32_t, >)

// What is left of a number that is not infinite as a half is exact in float.
static uint16_t half(float x) {
	_Float16 h = (_Float16)x;
	uint16_t bits;
	memcpy(&bits, &h, sizeof bits);
	return bits;
}
uint16_t nv_half_s32(int32_t) AS("nv.half.s32");
uint16_t nv_half_s32(int32_t x) { return half(x > 131072 ? 131072 : x < -131072 ? -131072 : x); }
uint16_t nv_half_u32(uint32_t) AS("nv.half.u32");
uint16_t nv_half_u32(uint32_t x) { return half(x > 131072 ? 131072 : x); }
uint16_t nv_half_s64(int64_t) AS("nv.half.s64");
uint16_t nv_half_s64(int64_t x) { return half(x > 131072 ? 131072 : x < -131072 ? -131072 : x); }
uint16_t nv_half_u64(uint64_t) AS("nv.half.u64");
uint16_t nv_half_u64(uint64_t x) { return half(x > 131072 ? 131072 : x); }
