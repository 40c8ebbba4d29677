// The twins of bench/cpu/kernels. Each takes the argument block of its kernel: the
// parameters in order, a slice as address and length.
#pragma once
#include <math.h>
#include <stdint.h>

typedef struct {
	float *restrict at;
	int64_t len;
} floats;

typedef struct {
	uint32_t *restrict at;
	int64_t len;
} words;

#define SIMD _Pragma("omp simd")

// Vectors of one register, and functions of the math library that take them: clang
// finds expf of 8 lanes by itself (-fveclib=libmvec), but not that of 16, nor tanhf.
#ifdef __AVX512F__
enum { LANES = 16 };
typedef float vec __attribute__((vector_size(64)));
vec _ZGVeN16v_tanhf(vec);
#define vtanhf _ZGVeN16v_tanhf
#else
enum { LANES = 8 };
typedef float vec __attribute__((vector_size(32)));
vec _ZGVdN8v_tanhf(vec);
#define vtanhf _ZGVdN8v_tanhf
#endif

// vec at any address.
typedef vec loose __attribute__((aligned(4)));

static inline float bitsf(uint32_t u) {
	float f;
	__builtin_memcpy(&f, &u, 4);
	return f;
}

static inline uint32_t fbits(float f) {
	uint32_t u;
	__builtin_memcpy(&u, &f, 4);
	return u;
}

// The polynomial of dsl.Exp.
static inline float expq(float r) {
	float q = fmaf(0x1.6a3d28p-10f, r, 0x1.12385ap-7f);
	q = fmaf(q, r, 0x1.5558bep-5f);
	q = fmaf(q, r, 0x1.555494p-3f);
	return fmaf(q, r, 0x1.fffffcp-2f);
}

// expk is dsl.Exp: the same operations in the same order.
static inline float expk(float x) {
	x = x < -0x1.9fe368p+6f - 1 ? -0x1.9fe368p+6f - 1 : x;
	x = x > 0x1.62e42ep+6f + 1 ? 0x1.62e42ep+6f + 1 : x;
	float z = fmaf(x, 0x1.715476p+0f, 0x1.8p23f);
	float n = z - 0x1.8p23f;
	float r = fmaf(n, 0x1.05c61p-29f, fmaf(n, -0x1.62e43p-1f, x));
	float p = fmaf(fmaf(expq(r), r, 1), r, 1);
	uint32_t bias = x < -86 ? (127 + 64) << 23 : 126 << 23;
	float last = x < -86 ? 0x1p-64f : 2;
	return p * bitsf((fbits(z) << 23) + bias) * last;
}

// tanhk is dsl.Tanh without its branches.
static inline float tanhk(float x) {
	float a = fabsf(x), z = x * x;
	float p = fmaf(-0x1.845a68p-8f, z, 0x1.5533c8p-6f);
	p = fmaf(p, z, -0x1.b8adbep-5f);
	p = fmaf(p, z, 0x1.110a68p-3f);
	p = fmaf(p, z, -0x1.555542p-2f);
	float near = fmaf(x * z, p, x);
	float b = a < 10 ? 2 * a : 20; // 1 - 2/(e^b + 1)
	float n = rintf(b * 0x1.715476p+0f);
	float c = fmaf(n, -0x1.62e43p-1f, b);
	float r = fmaf(n, 0x1.05c61p-29f, c);
	float lo = fmaf(n, 0x1.05c61p-29f, c - r);
	float one = 1 + r;
	float t = ((1 - one) + r) + fmaf(r * r, expq(r), lo * one);
	float s = one + t;
	t = (one - s) + t;
	float scale = bitsf((uint32_t)((int32_t)n + 127) << 23);
	s *= scale, t *= scale;
	float d = s + 1;
	float dlo = ((s - d) + 1) + t;
	float q = 2 / d;
	float qlo = fmaf(-q, dlo, fmaf(-q, d, 2)) / d;
	float y = 1 - q;
	float far = copysignf(y + (((1 - y) - q) - qlo), x);
	far = a < 10 ? far : copysignf(1, x);
	far = x != x ? x : far;
	near = a < 0x1p-13f ? x : near;
	return a < 0.55f ? near : far;
}
