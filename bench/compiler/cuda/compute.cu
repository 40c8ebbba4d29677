#include "args.cuh"

KERNEL NBody(float4 *__restrict__ acc, len_t, const float4 *__restrict__ bodies, len_t floats, float soft, PAD) {
  __shared__ float4 tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = (int)(floats / 4);
  float4 me = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (int base = 0; base < n; base += 256) {
    tile[threadIdx.x] = bodies[base + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 256; j++) {
      float4 o = tile[j];
      float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
      float r = 1 / sqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, soft))));
      float s = o.w * (r * r * r);
      ax = fmaf(dx, s, ax), ay = fmaf(dy, s, ay), az = fmaf(dz, s, az);
    }
    __syncthreads();
  }
  acc[i] = make_float4(ax, ay, az, 0);
}

__device__ inline float normal_cdf(float d) {
  float k = 1 / fmaf(0.2316419f, fabsf(d), 1);
  float p = fmaf(k, 1.330274429f, -1.821255978f);
  p = fmaf(k, p, 1.781477937f);
  p = fmaf(k, p, -0.356563782f);
  p = fmaf(k, p, 0.319381530f);
  float c = 0.3989422804f * expf(-0.5f * d * d) * (k * p);
  return d > 0 ? 1 - c : c;
}

KERNEL BlackScholes(float *__restrict__ call, len_t ncall, float *__restrict__ put, len_t, const float *__restrict__ price, len_t,
                    const float *__restrict__ strike, len_t, const float *__restrict__ years, len_t, float rate, float sigma) {
  int n = (int)ncall;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float s = price[i], x = strike[i], y = years[i];
    float root = sqrtf(y);
    float d1 = fmaf(fmaf(0.5f * sigma, sigma, rate), y, logf(s / x)) / (sigma * root);
    float d2 = fmaf(-sigma, root, d1);
    float n1 = normal_cdf(d1), n2 = normal_cdf(d2);
    float now = x * expf(-rate * y);
    call[i] = s * n1 - now * n2;
    put[i] = now * (1 - n2) - s * (1 - n1);
  }
}

KERNEL Mandelbrot(int *__restrict__ out, len_t, len_t lwidth, len_t lheight, len_t llimit, float x0, float y0, float step, PAD) {
  int width = (int)lwidth, height = (int)lheight, limit = (int)llimit;
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  float cx = fmaf((float)px, step, x0), cy = fmaf((float)py, step, y0);
  float x = 0, y = 0;
  int n = 0;
  for (; n < limit; n++) {
    float xx = x * x, yy = y * y;
    if (xx + yy > 4) break;
    y = fmaf(2 * x, y, cy);
    x = xx - yy + cx;
  }
  out[py * width + px] = n;
}

typedef unsigned long long word;
#define P1 0x9E3779B185EBCA87ull
#define P2 0xC2B2AE3D27D4EB4Full
#define P3 0x165667B19E3779F9ull
#define P4 0x85EBCA77C2B2AE63ull

__device__ inline word rotl(word x, int n) { return x << n | x >> (64 - n); }
__device__ inline word round1(word acc, word in) { return rotl(acc + in * P2, 31) * P1; }
__device__ inline word merge(word h, word v) { return (h ^ round1(0, v)) * P1 + P4; }

KERNEL XXHash64(word *__restrict__ out, len_t nout, const word *__restrict__ in, len_t, len_t nwords) {
  int n = (int)nout, words = (int)nwords;
  for (int m = blockIdx.x * blockDim.x + threadIdx.x; m < n; m += gridDim.x * blockDim.x) {
    word v1 = P1 + P2, v2 = P2, v3 = 0, v4 = -P1;
    for (int k = 0; k < words; k += 4) {
      v1 = round1(v1, in[k * n + m]);
      v2 = round1(v2, in[(k + 1) * n + m]);
      v3 = round1(v3, in[(k + 2) * n + m]);
      v4 = round1(v4, in[(k + 3) * n + m]);
    }
    word h = rotl(v1, 1) + rotl(v2, 7) + rotl(v3, 12) + rotl(v4, 18);
    h = merge(merge(merge(merge(h, v1), v2), v3), v4);
    h += (word)words * 8;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    out[m] = h ^ h >> 32;
  }
}
