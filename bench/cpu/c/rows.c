#include "twins.h"

// Strict arithmetic leaves no freedom to clang in sums of products, whatever the
// pragma of OpenMP says: this gives it to one loop.
#define FREE _Pragma("clang fp reassociate(on) contract(fast)")

// most returns the largest of n values, which is found in lanes of its own: a
// maximum with NaN in mind is not one that clang takes to vectors.
static inline float most(const float *x, int64_t n) {
	float lane[4 * LANES];
	for (int l = 0; l < 4 * LANES; l++) lane[l] = x[0];
	int64_t i = 0;
	for (; i < n - 4 * LANES + 1; i += 4 * LANES)
		SIMD for (int l = 0; l < 4 * LANES; l++) lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
	for (; i < n; i++) lane[0] = x[i] > lane[0] ? x[i] : lane[0];
	for (int l = 1; l < 4 * LANES; l++) lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
	return lane[0];
}

typedef struct {
	floats out, x;
	int64_t cols;
} softmax_args;

void Softmax(const softmax_args *p) {
	int64_t cols = p->cols, rows = p->x.len / cols;
	for (int64_t r = 0; r < rows; r++) {
		float *restrict x = p->x.at + r * cols, *restrict out = p->out.at + r * cols;
		float top = most(x, cols), sum = 0;
		_Pragma("omp simd reduction(+ : sum)") for (int64_t i = 0; i < cols; i++) {
			float e = expf(x[i] - top);
			out[i] = e;
			sum += e;
		}
		float scale = 1 / sum;
		SIMD for (int64_t i = 0; i < cols; i++) out[i] *= scale;
	}
}

// With the polynomial of the kernel.
void SoftmaxOurs(const softmax_args *p) {
	int64_t cols = p->cols, rows = p->x.len / cols;
	for (int64_t r = 0; r < rows; r++) {
		float *restrict x = p->x.at + r * cols, *restrict out = p->out.at + r * cols;
		float top = most(x, cols), sum = 0;
		_Pragma("omp simd reduction(+ : sum)") for (int64_t i = 0; i < cols; i++) {
			float e = expk(x[i] - top);
			out[i] = e;
			sum += e;
		}
		float scale = 1 / sum;
		SIMD for (int64_t i = 0; i < cols; i++) out[i] *= scale;
	}
}

typedef struct {
	floats out, x, weight;
	int64_t cols;
	float eps;
} rmsnorm_args;

void RMSNorm(const rmsnorm_args *p) {
	int64_t cols = p->cols, rows = p->x.len / cols;
	float *restrict weight = p->weight.at;
	for (int64_t r = 0; r < rows; r++) {
		float *restrict x = p->x.at + r * cols, *restrict out = p->out.at + r * cols;
		float sum = 0;
		_Pragma("omp simd reduction(+ : sum)") for (int64_t i = 0; i < cols; i++) {
			FREE
			sum += x[i] * x[i];
		}
		float scale = 1 / sqrtf(sum / (float)cols + p->eps);
		SIMD for (int64_t i = 0; i < cols; i++) out[i] = x[i] * scale * weight[i];
	}
}

typedef struct {
	floats out, x;
} sum_args;

void Sum(const sum_args *p) {
	float *restrict x = p->x.at, sum = 0;
	int64_t n = p->x.len;
	_Pragma("omp simd reduction(+ : sum)") for (int64_t i = 0; i < n; i++) sum += x[i];
	p->out.at[0] = sum;
}
