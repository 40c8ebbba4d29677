#include "args.cuh"

// Vectors are written as float4 where the Go kernel says LoadVec and StoreVec.
KERNEL SGEMM(float4 *__restrict__ c, len_t, const float4 *__restrict__ a, len_t, const float4 *__restrict__ b, len_t, len_t, len_t ln, len_t lk) {
  __shared__ __align__(16) float as[8][128], bs[8][128];
  int n = (int)ln, k = (int)lk;
  int id = threadIdx.x, row = blockIdx.y * 128, col = blockIdx.x * 128;
  int ar = id / 2, ac = id % 2, br = id / 32, bc = id % 32, tr = id / 16, tc = id % 16;
  float acc[8][8] = {};
  for (int k0 = 0; k0 < k; k0 += 8) {
    float4 va = a[(row + ar) * (k / 4) + k0 / 4 + ac];
    float4 vb = b[(k0 + br) * (n / 4) + col / 4 + bc];
    as[ac * 4][ar] = va.x, as[ac * 4 + 1][ar] = va.y, as[ac * 4 + 2][ar] = va.z, as[ac * 4 + 3][ar] = va.w;
    *(float4 *)&bs[br][bc * 4] = vb;
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 8; kk++) {
      float x[8], y[8];
      *(float4 *)&x[0] = *(float4 *)&as[kk][tr * 4], *(float4 *)&x[4] = *(float4 *)&as[kk][tr * 4 + 64];
      *(float4 *)&y[0] = *(float4 *)&bs[kk][tc * 4], *(float4 *)&y[4] = *(float4 *)&bs[kk][tc * 4 + 64];
#pragma unroll
      for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    int at = (row + tr * 4 + i / 4 * 64 + i % 4) * (n / 4) + col / 4 + tc;
    c[at] = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
    c[at + 16] = make_float4(acc[i][4], acc[i][5], acc[i][6], acc[i][7]);
  }
}
