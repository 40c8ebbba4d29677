#include "args.cuh"

KERNEL Saxpy(float *__restrict__ y, len_t ny, const float *__restrict__ x, len_t, float a, PAD) {
  int n = (int)ny;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

KERNEL Copy4(float4 *__restrict__ out, len_t nout, const float4 *__restrict__ in, len_t) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (int)(nout / 4)) out[i] = in[i];
}

KERNEL Transpose(float *__restrict__ out, len_t, const float *__restrict__ in, len_t, len_t nrows, len_t ncols) {
  __shared__ float tile[32][33];
  int rows = (int)nrows, cols = (int)ncols;
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
  for (int j = 0; j < 32; j += 8) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

KERNEL Reduce(float *__restrict__ out, len_t, const float *__restrict__ x, len_t nx) {
  int n = (int)nx;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

KERNEL Histogram(unsigned *__restrict__ bins, len_t, const unsigned *__restrict__ x, len_t nx) {
  __shared__ unsigned part[256];
  int n = (int)nx;
  for (int i = threadIdx.x; i < 256; i += blockDim.x) part[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned w = x[i];
    atomicAdd(&part[w & 255], 1);
    atomicAdd(&part[w >> 8 & 255], 1);
    atomicAdd(&part[w >> 16 & 255], 1);
    atomicAdd(&part[w >> 24], 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], part[i]);
}

KERNEL Stencil(float *__restrict__ out, len_t, const float *__restrict__ in, len_t, len_t lx, len_t ly, len_t lz, float a, float b) {
  int nx = (int)lx, ny = (int)ly, nz = (int)lz;
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= nx - 1 || y >= ny - 1) return;
  int plane = nx * ny, at = y * nx + x;
  float below = in[at], here = in[at + plane];
  for (int z = 1; z < nz - 1; z++) {
    at += plane;
    float above = in[at + plane];
    float sum = in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + below + above;
    out[at] = fmaf(a, here, b * sum);
    below = here, here = above;
  }
}
