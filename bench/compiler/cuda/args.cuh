// The arguments of a twin are those of the Go kernel in its argument block: a
// slice is an address and a length, an int has 64 bits, and the block is whole
// words of 8 bytes, to which PAD fills it. A twin narrows lengths
// and ints at its entry, as CUDA programs pass them.
#pragma once
#define KERNEL extern "C" __global__ void
#define PAD int
typedef long long len_t;

__device__ inline float warp_sum(float v) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  return v;
}

__device__ inline float warp_max(float v) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
  return v;
}

// Over the block, to every thread: each adds the parts of the warps in order.
__device__ inline float block_sum(float v) {
  __shared__ float part[128];
  v = warp_sum(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = part[0];
  for (int i = 1; i < blockDim.x / 32; i++) v += part[i];
  return v;
}

__device__ inline float block_max(float v) {
  __shared__ float part[128];
  v = warp_max(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = part[0];
  for (int i = 1; i < blockDim.x / 32; i++) v = fmaxf(v, part[i]);
  return v;
}
