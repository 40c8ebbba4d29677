#include "twins.h"

typedef struct {
	floats y, x;
	float a;
} saxpy_args;

void Saxpy(const saxpy_args *p) {
	float *restrict y = p->y.at, *restrict x = p->x.at, a = p->a;
	int64_t n = p->y.len;
	SIMD for (int64_t i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

typedef struct {
	floats out, x;
} map_args;

void Exp(const map_args *p) {
	float *restrict out = p->out.at, *restrict x = p->x.at;
	int64_t n = p->out.len;
	SIMD for (int64_t i = 0; i < n; i++) out[i] = expf(x[i]);
}

// With the polynomial of the kernel.
void ExpOurs(const map_args *p) {
	float *restrict out = p->out.at, *restrict x = p->x.at;
	int64_t n = p->out.len;
	SIMD for (int64_t i = 0; i < n; i++) out[i] = expk(x[i]);
}

void Gelu(const map_args *p) {
	float *restrict out = p->out.at, *restrict x = p->x.at;
	int64_t n = p->out.len;
	SIMD for (int64_t i = 0; i < n; i++) out[i] = x[i] / (1 + expf(-1.5957691216f * fmaf(0.044715f * x[i], x[i] * x[i], x[i])));
}

// With the polynomial of the kernel.
void GeluOurs(const map_args *p) {
	float *restrict out = p->out.at, *restrict x = p->x.at;
	int64_t n = p->out.len;
	SIMD for (int64_t i = 0; i < n; i++) out[i] = x[i] / (1 + expk(-1.5957691216f * fmaf(0.044715f * x[i], x[i] * x[i], x[i])));
}

// The math library's function of a whole vector, which no loop of clang's calls.
void Tanh(const map_args *p) {
	float *restrict out = p->out.at, *restrict x = p->x.at;
	int64_t n = p->out.len, i = 0;
	for (; i < n - LANES + 1; i += LANES) *(loose *)(out + i) = vtanhf(*(const loose *)(x + i));
	for (; i < n; i++) out[i] = tanhf(x[i]);
}

// With the polynomials of the kernel.
void TanhOurs(const map_args *p) {
	float *restrict out = p->out.at, *restrict x = p->x.at;
	int64_t n = p->out.len;
	SIMD for (int64_t i = 0; i < n; i++) out[i] = tanhk(x[i]);
}
