// Twins of the kernels with approximate functions: the same instructions, which
// are CUDA's own intrinsics but for three that it has only as PTX.
#include "args.cuh"

__device__ inline float full_div(float a, float b) { float r; asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
__device__ inline float approx_rcp(float a) { float r; asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(a)); return r; }
__device__ inline float approx_sqrt(float a) { float r; asm("sqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(a)); return r; }

__device__ inline float fast_cdf(float d) {
  float k = approx_rcp(1 + 0.2316419f * fabsf(d));
  float p = k * (k * (k * (k * 1.330274429f - 1.821255978f) + 1.781477937f) - 0.356563782f) + 0.319381530f;
  float c = 0.3989422804f * __expf(-0.5f * d * d) * (k * p);
  return d > 0 ? 1 - c : c;
}

KERNEL BlackScholesFast(float *__restrict__ call, len_t ncall, float *__restrict__ put, len_t, const float *__restrict__ price, len_t,
                        const float *__restrict__ strike, len_t, const float *__restrict__ years, len_t, float rate, float sigma) {
  int n = (int)ncall;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float s = price[i], x = strike[i], y = years[i];
    float root = approx_sqrt(y);
    float d1 = full_div(__logf(full_div(s, x)) + (rate + 0.5f * sigma * sigma) * y, sigma * root);
    float d2 = d1 - sigma * root;
    float n1 = fast_cdf(d1), n2 = fast_cdf(d2);
    float now = x * __expf(-rate * y);
    call[i] = s * n1 - now * n2;
    put[i] = now * (1 - n2) - s * (1 - n1);
  }
}
