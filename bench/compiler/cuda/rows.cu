#include "args.cuh"

KERNEL Softmax(float *__restrict__ out, len_t, const float *__restrict__ x, len_t, len_t ncols) {
  int cols = (int)ncols, row = blockIdx.x * cols;
  float top = x[row];
  for (int i = threadIdx.x; i < cols; i += blockDim.x) top = fmaxf(top, x[row + i]);
  top = block_max(top);
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(x[row + i] - top);
  float scale = 1 / block_sum(sum);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[row + i] = expf(x[row + i] - top) * scale;
}

KERNEL RMSNorm(float *__restrict__ out, len_t, const float *__restrict__ x, len_t, const float *__restrict__ weight, len_t, len_t ncols, float eps, PAD) {
  int cols = (int)ncols, row = blockIdx.x * cols;
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    float v = x[row + i];
    sum = fmaf(v, v, sum);
  }
  float scale = 1 / sqrtf(block_sum(sum) / cols + eps);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[row + i] = x[row + i] * scale * weight[i];
}
