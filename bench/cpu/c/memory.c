#include "twins.h"

typedef struct {
	floats out, in;
	int64_t rows, cols;
} transpose_args;

// In tiles of 16 by 16, a cache line wide.
void Transpose(const transpose_args *p) {
	float *restrict out = p->out.at, *restrict in = p->in.at;
	int64_t rows = p->rows, cols = p->cols;
	for (int64_t y0 = 0; y0 < rows; y0 += 16)
		for (int64_t x0 = 0; x0 < cols; x0 += 16)
			for (int64_t x = x0; x < x0 + 16; x++)
				SIMD for (int64_t y = y0; y < y0 + 16; y++) out[x * rows + y] = in[y * cols + x];
}

// In tiles of 32 by 32 through a copy, as the kernel does.
void TransposeTile(const transpose_args *p) {
	float *restrict out = p->out.at, *restrict in = p->in.at;
	int64_t rows = p->rows, cols = p->cols;
	float tile[32][33];
	for (int64_t y0 = 0; y0 < rows; y0 += 32)
		for (int64_t x0 = 0; x0 < cols; x0 += 32) {
			for (int64_t y = 0; y < 32; y++)
				SIMD for (int64_t x = 0; x < 32; x++) tile[y][x] = in[(y0 + y) * cols + x0 + x];
			for (int64_t x = 0; x < 32; x++)
				SIMD for (int64_t y = 0; y < 32; y++) out[(x0 + x) * rows + y0 + y] = tile[y][x];
		}
}

typedef struct {
	words bins, x;
} histogram_args;

// Four tables, as the kernel has.
void Histogram(const histogram_args *p) {
	uint32_t *restrict x = p->x.at, part[4][256] = {{0}};
	int64_t n = p->x.len;
	for (int64_t i = 0; i < n; i++) {
		uint32_t w = x[i];
		part[0][w & 255]++;
		part[1][w >> 8 & 255]++;
		part[2][w >> 16 & 255]++;
		part[3][w >> 24]++;
	}
	SIMD for (int i = 0; i < 256; i++) p->bins.at[i] += part[0][i] + part[1][i] + part[2][i] + part[3][i];
}

// One table.
void HistogramOne(const histogram_args *p) {
	uint32_t *restrict x = p->x.at, part[256] = {0};
	int64_t n = p->x.len;
	for (int64_t i = 0; i < n; i++) {
		uint32_t w = x[i];
		part[w & 255]++;
		part[w >> 8 & 255]++;
		part[w >> 16 & 255]++;
		part[w >> 24]++;
	}
	SIMD for (int i = 0; i < 256; i++) p->bins.at[i] += part[i];
}

typedef struct {
	floats out, in;
	int64_t nx, ny;
	float a, b;
} stencil_args;

void Stencil(const stencil_args *p) {
	float *restrict out = p->out.at, *restrict in = p->in.at, a = p->a, b = p->b;
	int64_t nx = p->nx, ny = p->ny, plane = nx * ny, nz = p->in.len / plane;
	for (int64_t z = 1; z < nz - 1; z++)
		for (int64_t y = 1; y < ny - 1; y++)
			SIMD for (int64_t x = 1; x < nx - 1; x++) {
				int64_t at = z * plane + y * nx + x;
				float sum = in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - plane] + in[at + plane];
				out[at] = fmaf(a, in[at], b * sum);
			}
}
