// The matrix instructions of AMD's devices, D = A * B + C of 16 by 16, by the formulas of the
// manuals: which lane has an element of a matrix, in which of its registers. A device has the
// builtin functions of its architecture only.
#pragma once

struct kiln_sim_at {
	int lane, i; // element i of the lane
};

// AMD Instinct MI200 and MI300 instruction set architecture, "Matrix Arithmetic Instructions":
// V_MFMA_F32_16X16X16_F16 and V_MFMA_F32_16X16X16_BF16.
struct kiln_sim_mfma_16x16x16 {
	static constexpr int depth = 16, wave = 64, copies = 1;
	static kiln_sim_at a(int row, int k) { return {16 * (k / 4) + row, k % 4}; }
	static kiln_sim_at b(int k, int col) { return {16 * (k / 4) + col, k % 4}; }
	static kiln_sim_at d(int row, int col) { return {16 * (row / 4) + col, row % 4}; }
};

// V_MFMA_F32_16X16X8_XF32, which the MI200 lacks.
struct kiln_sim_mfma_16x16x8 {
	static constexpr int depth = 8, wave = 64, copies = 1;
	static kiln_sim_at a(int row, int k) { return {16 * (k / 2) + row, k % 2}; }
	static kiln_sim_at b(int k, int col) { return {16 * (k / 2) + col, k % 2}; }
	static kiln_sim_at d(int row, int col) { return {16 * (row / 4) + col, row % 4}; }
};

// V_MFMA_I32_16X16X32_I8, which the MI200 lacks; its V_MFMA_I32_16X16X16_I8 is as those of 16 bits.
struct kiln_sim_mfma_16x16x32 {
	static constexpr int depth = 32, wave = 64, copies = 1;
	static kiln_sim_at a(int row, int k) { return {16 * (k / 8) + row, k % 8}; }
	static kiln_sim_at b(int k, int col) { return {16 * (k / 8) + col, k % 8}; }
	static kiln_sim_at d(int row, int col) { return {16 * (row / 4) + col, row % 4}; }
};

// V_MFMA_F64_16X16X4_F64: four rows of D are in one register of the wave.
struct kiln_sim_mfma_16x16x4 {
	static constexpr int depth = 4, wave = 64, copies = 1;
	static kiln_sim_at a(int row, int k) { return {16 * k + row, 0}; }
	static kiln_sim_at b(int k, int col) { return {16 * k + col, 0}; }
	static kiln_sim_at d(int row, int col) { return {16 * (row % 4) + col, row / 4}; }
};

// AMD RDNA 3 instruction set architecture, "Wave Matrix Multiply Accumulate (WMMA)", waves of 32:
// lanes 16 to 31 have to have what lanes 0 to 15 have of A and B; rows of D alternate between them.
struct kiln_sim_wmma_gfx11 {
	static constexpr int depth = 16, wave = 32, copies = 2;
	static kiln_sim_at a(int row, int k) { return {row, k}; }
	static kiln_sim_at b(int k, int col) { return {col, k}; }
	static kiln_sim_at d(int row, int col) { return {16 * (row % 2) + col, row / 2}; }
};

// AMD RDNA 4 instruction set architecture, the same section: groups of four along k alternate
// between the halves of the wave.
struct kiln_sim_wmma_gfx12 {
	static constexpr int depth = 16, wave = 32, copies = 1;
	static kiln_sim_at a(int row, int k) { return {16 * (k / 4 % 2) + row, k / 8 * 4 + k % 4}; }
	static kiln_sim_at b(int k, int col) { return {16 * (k / 4 % 2) + col, k / 8 * 4 + k % 4}; }
	static kiln_sim_at d(int row, int col) { return {16 * (row / 8) + col, row % 8}; }
};

// Its V_WMMA_I32_16X16X16_IU8: eight along k are in the two registers of a lane.
struct kiln_sim_wmma_gfx12_bytes {
	static constexpr int depth = 16, wave = 32, copies = 1;
	static kiln_sim_at a(int row, int k) { return {16 * (k / 8) + row, k % 8}; }
	static kiln_sim_at b(int k, int col) { return {16 * (k / 8) + col, k % 8}; }
	static kiln_sim_at d(int row, int col) { return {16 * (row / 8) + col, row % 8}; }
};

// The MI200 takes subnormal numbers of 16 bits for zero, and gives no subnormal sums of them.
#if defined(__gfx90a__)
constexpr bool kiln_sim_flushes = true;
#else
constexpr bool kiln_sim_flushes = false;
#endif
template <class T> static inline T kiln_sim_flushed(T x, T least) { return kiln_sim_flushes && x > -least && x < least ? x * 0 : x; }

static inline double kiln_sim_wide(_Float16 x) { return kiln_sim_flushed((double)x, 0x1p-14); }
static inline double kiln_sim_wide(short x) { return kiln_sim_flushed((double)__builtin_bit_cast(float, (unsigned)(unsigned short)x << 16), 0x1p-126); }

static inline float kiln_sim_add(float c, double a, double b) { return kiln_sim_flushed((float)(c + a * b), 0x1p-126f); }
// Ten bits of the fraction of an XF32 number are read.
static inline double kiln_sim_wide(float x) { return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, x) & ~0x1fffu); }
static inline double kiln_sim_wide(double x) { return x; }
static inline double kiln_sim_add(double c, double a, double b) { return __builtin_fma(a, b, c); }

static inline double kiln_sim_wide(signed char x) { return x; }
static inline double kiln_sim_wide(unsigned char x) { return x; }
static inline int kiln_sim_add(int c, double a, double b) { return (int)((unsigned)c + (unsigned)(int)(a * b)); }

// Bytes with and without a sign, of both factors.
template <bool a, bool b> struct kiln_sim_bytes;
template <> struct kiln_sim_bytes<true, true> { typedef signed char type; };
template <> struct kiln_sim_bytes<false, false> { typedef unsigned char type; };

template <class Layout, class Elem, class Sum> struct kiln_sim_mma {
	Elem a[16 * Layout::depth * Layout::copies / Layout::wave], b[16 * Layout::depth * Layout::copies / Layout::wave];
	Sum d[256 / Layout::wave];

	static const char *product(void *const *operands) {
		auto lane = [&](int i) -> kiln_sim_mma & { return *(kiln_sim_mma *)operands[i]; };
		for (int i = 0; i < Layout::wave; i++)
			if (Layout::copies == 2 && (__builtin_memcmp(lane(i).a, lane(i % 16).a, sizeof a) || __builtin_memcmp(lane(i).b, lane(i % 16).b, sizeof b)))
				return "has factors in the upper half of the wave that differ from those in the lower half";
		Sum sums[16][16];
		for (int row = 0; row < 16; row++)
			for (int col = 0; col < 16; col++) {
				kiln_sim_at to = Layout::d(row, col);
				Sum sum = lane(to.lane).d[to.i];
				for (int k = 0; k < Layout::depth; k++) {
					kiln_sim_at x = Layout::a(row, k), y = Layout::b(k, col);
					sum = kiln_sim_add(sum, kiln_sim_wide(lane(x.lane).a[x.i]), kiln_sim_wide(lane(y.lane).b[y.i]));
				}
				sums[row][col] = sum;
			}
		for (int row = 0; row < 16; row++)
			for (int col = 0; col < 16; col++) lane(Layout::d(row, col).lane).d[Layout::d(row, col).i] = sums[row][col];
		return nullptr;
	}

	template <class V, class S> static S run(V x, V y, S z, int site, int line) {
		kiln_sim_mma m;
		static_assert(sizeof x == sizeof m.a && sizeof z == sizeof m.d, "a lane has as many elements as the manual says");
		__builtin_memcpy(m.a, &x, sizeof x), __builtin_memcpy(m.b, &y, sizeof y), __builtin_memcpy(m.d, &z, sizeof z);
		kiln_sim_multiply(product, &m, site, line);
		__builtin_memcpy(&z, m.d, sizeof z);
		return z;
	}
};

#define KILN_SIM_MMA(layout, elem, sum, a, b, c) (kiln_sim_mma<kiln_sim_##layout, elem, sum>::run(a, b, c, __COUNTER__, __LINE__))
#define KILN_SIM_MMA_BYTES(layout, signA, signB, a, b, c) (kiln_sim_mma<kiln_sim_##layout, kiln_sim_bytes<signA, signB>::type, int>::run(a, b, c, __COUNTER__, __LINE__))

#if defined(__gfx90a__) || defined(__gfx942__)
#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, cbsz, abid, blgp) KILN_SIM_MMA(mfma_16x16x16, _Float16, float, a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, cbsz, abid, blgp) KILN_SIM_MMA(mfma_16x16x16, short, float, a, b, c)
#define __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, c, cbsz, abid, blgp) KILN_SIM_MMA(mfma_16x16x4, double, double, a, b, c)
#if defined(__gfx90a__)
#define __builtin_amdgcn_mfma_i32_16x16x16i8(a, b, c, cbsz, abid, blgp) KILN_SIM_MMA(mfma_16x16x16, signed char, int, a, b, c)
#endif
#if defined(__gfx942__)
#define __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, c, cbsz, abid, blgp) KILN_SIM_MMA(mfma_16x16x32, signed char, int, a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x8_xf32(a, b, c, cbsz, abid, blgp) KILN_SIM_MMA(mfma_16x16x8, float, float, a, b, c)
#endif
#elif defined(__gfx1100__)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c) KILN_SIM_MMA(wmma_gfx11, _Float16, float, a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c) KILN_SIM_MMA(wmma_gfx11, short, float, a, b, c)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(signA, a, signB, b, c, clamp) KILN_SIM_MMA_BYTES(wmma_gfx11, signA, signB, a, b, c)
#elif defined(__gfx1201__)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c) KILN_SIM_MMA(wmma_gfx12, _Float16, float, a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c) KILN_SIM_MMA(wmma_gfx12, short, float, a, b, c)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(signA, a, signB, b, c, clamp) KILN_SIM_MMA_BYTES(wmma_gfx12_bytes, signA, signB, a, b, c)
#endif
