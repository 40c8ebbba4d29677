"""The Triton kernel of cold.py."""

import triton
import triton.language as tl


@triton.jit
def swiglu(out, gate, up, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    g = tl.load(gate + at, mask=mask)
    tl.store(out + at, g / (1 + tl.exp(-g)) * tl.load(up + at, mask=mask), mask=mask)
