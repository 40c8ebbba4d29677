#include "twins.h"

// The tiling of the kernel: rows, columns and depth of what stays in the cache, and
// rows and columns of what is in registers.
enum { ROWS = 128, COLS = 64, DEPTH = 64, HIGH = 8, WIDE = 2 * LANES };

typedef struct {
	floats c, a, b;
	int64_t n, k;
} sgemm_args;

// block adds the product of a tile of a and a tile of b, each with its rows one
// after the other, to a block of c.
static inline void block(float *restrict c, int64_t n, const float *restrict a, const float *restrict b, int first) {
	vec acc[HIGH][WIDE / LANES];
	for (int h = 0; h < HIGH; h++)
		for (int e = 0; e < WIDE / LANES; e++) acc[h][e] = first ? (vec){0} : *(const loose *)(c + h * n + e * LANES);
	for (int i = 0; i < DEPTH; i++) {
		vec v[WIDE / LANES];
		for (int e = 0; e < WIDE / LANES; e++) v[e] = *(const loose *)(b + i * COLS + e * LANES);
		for (int h = 0; h < HIGH; h++) {
			vec w = a[h * DEPTH + i] - (vec){0};
			for (int e = 0; e < WIDE / LANES; e++) acc[h][e] = __builtin_elementwise_fma(w, v[e], acc[h][e]);
		}
	}
	for (int h = 0; h < HIGH; h++)
		for (int e = 0; e < WIDE / LANES; e++) *(loose *)(c + h * n + e * LANES) = acc[h][e];
}

void SGEMM(const sgemm_args *p) {
	static float as[ROWS * DEPTH] __attribute__((aligned(64))), bs[DEPTH * COLS] __attribute__((aligned(64)));
	float *restrict a = p->a.at, *restrict b = p->b.at, *restrict c = p->c.at;
	int64_t n = p->n, k = p->k, m = p->a.len / k;
	for (int64_t row = 0; row < m; row += ROWS)
		for (int64_t col = 0; col < n; col += COLS)
			for (int64_t k0 = 0; k0 < k; k0 += DEPTH) {
				for (int r = 0; r < ROWS; r++)
					SIMD for (int i = 0; i < DEPTH; i++) as[r * DEPTH + i] = a[(row + r) * k + k0 + i];
				for (int r = 0; r < DEPTH; r++)
					SIMD for (int i = 0; i < COLS; i++) bs[r * COLS + i] = b[(k0 + r) * n + col + i];
				for (int r = 0; r < ROWS; r += HIGH)
					for (int e = 0; e < COLS; e += WIDE)
						block(c + (row + r) * n + col + e, n, as + r * DEPTH, bs + e, k0 == 0);
			}
}

// With loops in place of vectors.
static inline void loops(float *restrict c, int64_t n, const float *restrict a, const float *restrict b, int first) {
	float acc[HIGH][WIDE];
	for (int h = 0; h < HIGH; h++)
		SIMD for (int e = 0; e < WIDE; e++) acc[h][e] = first ? 0 : c[h * n + e];
	for (int i = 0; i < DEPTH; i++)
		for (int h = 0; h < HIGH; h++)
			SIMD for (int e = 0; e < WIDE; e++) acc[h][e] = fmaf(a[h * DEPTH + i], b[i * COLS + e], acc[h][e]);
	for (int h = 0; h < HIGH; h++)
		SIMD for (int e = 0; e < WIDE; e++) c[h * n + e] = acc[h][e];
}

void SGEMMLoops(const sgemm_args *p) {
	static float as[ROWS * DEPTH] __attribute__((aligned(64))), bs[DEPTH * COLS] __attribute__((aligned(64)));
	float *restrict a = p->a.at, *restrict b = p->b.at, *restrict c = p->c.at;
	int64_t n = p->n, k = p->k, m = p->a.len / k;
	for (int64_t row = 0; row < m; row += ROWS)
		for (int64_t col = 0; col < n; col += COLS)
			for (int64_t k0 = 0; k0 < k; k0 += DEPTH) {
				for (int r = 0; r < ROWS; r++)
					SIMD for (int i = 0; i < DEPTH; i++) as[r * DEPTH + i] = a[(row + r) * k + k0 + i];
				for (int r = 0; r < DEPTH; r++)
					SIMD for (int i = 0; i < COLS; i++) bs[r * COLS + i] = b[(k0 + r) * n + col + i];
				for (int r = 0; r < ROWS; r += HIGH)
					for (int e = 0; e < COLS; e += WIDE)
						loops(c + (row + r) * n + col + e, n, as + r * DEPTH, bs + e, k0 == 0);
			}
}
