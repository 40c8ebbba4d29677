"""The Triton kernel of sm80.py."""

import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """Computes a tile of c = a·b, of sizes that tiles divide, in bands of GROUP rows of tiles."""
    pid = tl.program_id(0)
    across = N // BN
    band = pid // (GROUP * across) * GROUP
    high = min(M // BM - band, GROUP)
    i = band + pid % (GROUP * across) % high
    j = pid % (GROUP * across) // high
    rows, cols, along = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    x = a + rows[:, None] * K + along[None, :]
    y = b + along[:, None] * N + cols[None, :]
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        sums = tl.dot(tl.load(x), tl.load(y), sums)
        x += BK
        y += BK * N
    tl.store(c + rows[:, None] * N + cols[None, :], sums.to(tl.bfloat16))
