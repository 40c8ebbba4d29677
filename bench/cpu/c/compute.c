#include "twins.h"

typedef struct {
	floats ax, ay, az, x, y, z, mass;
	float soft;
} nbody_args;

void NBody(const nbody_args *p) {
	float *restrict x = p->x.at, *restrict y = p->y.at, *restrict z = p->z.at, *restrict mass = p->mass.at;
	float soft = p->soft;
	int64_t n = p->x.len;
	for (int64_t i = 0; i < n; i++) {
		float fx = 0, fy = 0, fz = 0, mx = x[i], my = y[i], mz = z[i];
		_Pragma("omp simd reduction(+ : fx, fy, fz)") for (int64_t j = 0; j < n; j++) {
			_Pragma("clang fp reassociate(on) contract(fast)") // or the sums stay scalar
			float dx = x[j] - mx, dy = y[j] - my, dz = z[j] - mz;
			float r = 1 / sqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, soft))));
			float s = mass[j] * (r * r * r);
			fx += dx * s, fy += dy * s, fz += dz * s;
		}
		p->ax.at[i] = fx, p->ay.at[i] = fy, p->az.at[i] = fz;
	}
}

typedef struct {
	int32_t *restrict at;
	int64_t len;
} counts;

typedef struct {
	counts out;
	int64_t width, height, limit;
	float x0, y0, step;
} mandelbrot_args;

static inline void point(const mandelbrot_args *p, int64_t px, int64_t py) {
	float cx = fmaf((float)px, p->step, p->x0), cy = fmaf((float)py, p->step, p->y0), x = 0, y = 0;
	int64_t n = 0;
	for (; n < p->limit; n++) {
		float yy = y * y, xx = x * x;
		if (xx + yy > 4) break;
		y = fmaf(2 * x, y, cy);
		x = xx - yy + cx;
	}
	p->out.at[py * p->width + px] = (int32_t)n;
}

// Groups of points side by side, each group until its last point is done. The side
// is a multiple of the group.
void Mandelbrot(const mandelbrot_args *p) {
	enum { GROUP = 2 * LANES };
	for (int64_t py = 0; py < p->height; py++)
		for (int64_t px = 0; px < p->width; px += GROUP) {
			float cx[GROUP], x[GROUP], y[GROUP], cy = fmaf((float)py, p->step, p->y0);
			int32_t count[GROUP];
			SIMD for (int l = 0; l < GROUP; l++) {
				cx[l] = fmaf((float)(int32_t)(px + l), p->step, p->x0);
				x[l] = y[l] = 0, count[l] = 0;
			}
			for (int64_t n = 0; n < p->limit; n++) {
				int32_t inside = 0;
				_Pragma("omp simd reduction(+ : inside)") for (int l = 0; l < GROUP; l++) {
					float yy = y[l] * y[l], xx = x[l] * x[l];
					int32_t in = xx + yy <= 4;
					inside += in, count[l] += in;
					y[l] = in ? fmaf(2 * x[l], y[l], cy) : y[l];
					x[l] = in ? xx - yy + cx[l] : x[l];
				}
				if (!inside) break;
			}
			SIMD for (int l = 0; l < GROUP; l++) p->out.at[py * p->width + px + l] = count[l];
		}
}

// Point after point.
void MandelbrotPoint(const mandelbrot_args *p) {
	for (int64_t py = 0; py < p->height; py++)
		for (int64_t px = 0; px < p->width; px++) point(p, px, py);
}
