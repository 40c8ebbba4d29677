#include "twins.h"

// The tile of c in registers, as the kernel has it: 24 vectors where there are 32
// registers, 12 where there are 16.
#ifdef __AVX512F__
enum { HIGH = 12 };
#else
enum { HIGH = 6 };
#endif
enum { WIDE = 2 * LANES, BLOCK = 16 * HIGH };

typedef struct {
	floats c, a, b, bands, panels;
	int64_t n, k;
} sgemm_args;

// pack copies a into bands of HIGH rows, each column after column, the last of them
// with rows of zeros, and b into
// panels of WIDE columns, each row after row.
static void pack(const sgemm_args *p) {
	float *restrict a = p->a.at, *restrict b = p->b.at, *restrict bands = p->bands.at, *restrict panels = p->panels.at;
	int64_t n = p->n, k = p->k, m = p->a.len / k;
	for (int64_t row = 0; row < m; row += HIGH)
		for (int64_t i = 0; i < k; i++)
			for (int h = 0; h < HIGH; h++) bands[row * k + i * HIGH + h] = row + h < m ? a[(row + h) * k + i] : 0;
	for (int64_t col = 0; col < n; col += WIDE)
		for (int64_t i = 0; i < k; i++)
			SIMD for (int e = 0; e < WIDE; e++) panels[col * k + i * WIDE + e] = b[i * n + col + e];
}

// band computes rows of a tile of c from a band of a and a panel of b.
static inline void band(float *restrict c, int64_t n, const float *restrict a, const float *restrict b, int64_t k, int64_t rows) {
	vec acc[HIGH][WIDE / LANES] = {{{0}}};
	for (int64_t i = 0; i < k; i++) {
		vec v[WIDE / LANES];
		for (int e = 0; e < WIDE / LANES; e++) v[e] = *(const loose *)(b + i * WIDE + e * LANES);
		for (int h = 0; h < HIGH; h++) {
			vec w = a[i * HIGH + h] - (vec){0};
			for (int e = 0; e < WIDE / LANES; e++) acc[h][e] = __builtin_elementwise_fma(w, v[e], acc[h][e]);
		}
	}
	for (int h = 0; h < HIGH && h < rows; h++)
		for (int e = 0; e < WIDE / LANES; e++) *(loose *)(c + h * n + e * LANES) = acc[h][e];
}

void SGEMM(const sgemm_args *p) {
	float *restrict c = p->c.at, *restrict bands = p->bands.at, *restrict panels = p->panels.at;
	int64_t n = p->n, k = p->k, m = p->a.len / k;
	pack(p);
	for (int64_t block = 0; block < m; block += BLOCK)
		for (int64_t col = 0; col < n; col += WIDE)
			for (int64_t row = block; row < block + BLOCK && row < m; row += HIGH)
				band(c + row * n + col, n, bands + row * k, panels + col * k, k, m - row);
}

// With loops in place of vectors.
static inline void loops(float *restrict c, int64_t n, const float *restrict a, const float *restrict b, int64_t k, int64_t rows) {
	float acc[HIGH][WIDE] = {{0}};
	for (int64_t i = 0; i < k; i++)
		for (int h = 0; h < HIGH; h++)
			SIMD for (int e = 0; e < WIDE; e++) acc[h][e] = fmaf(a[i * HIGH + h], b[i * WIDE + e], acc[h][e]);
	for (int h = 0; h < HIGH && h < rows; h++)
		SIMD for (int e = 0; e < WIDE; e++) c[h * n + e] = acc[h][e];
}

void SGEMMLoops(const sgemm_args *p) {
	float *restrict c = p->c.at, *restrict bands = p->bands.at, *restrict panels = p->panels.at;
	int64_t n = p->n, k = p->k, m = p->a.len / k;
	pack(p);
	for (int64_t block = 0; block < m; block += BLOCK)
		for (int64_t col = 0; col < n; col += WIDE)
			for (int64_t row = block; row < block + BLOCK && row < m; row += HIGH)
				loops(c + row * n + col, n, bands + row * k, panels + col * k, k, m - row);
}
