"""Forty elementwise operations, of which each value of OP is a kernel of its own."""

import triton
import triton.language as tl


@triton.jit
def unary(out, inp, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(inp + at, mask=at < n)
    x = v.to(tl.float32)
    y = x
    if OP == 0:
        y = x
    elif OP == 1:
        y = -x
    elif OP == 2:
        y = tl.abs(x)
    elif OP == 3:
        y = x * x
    elif OP == 4:
        y = x * x * x
    elif OP == 5:
        y = 1.0 / x
    elif OP == 6:
        y = tl.sqrt(x)
    elif OP == 7:
        y = tl.exp(x)
    elif OP == 8:
        y = tl.log(x)
    elif OP == 9:
        y = tl.sin(x)
    elif OP == 10:
        y = tl.cos(x)
    elif OP == 11:
        y = tl.exp2(x)
    elif OP == 12:
        y = tl.log2(x)
    elif OP == 13:
        y = tl.rsqrt(x)
    elif OP == 14:
        y = tl.sigmoid(x)
    elif OP == 15:
        y = x * tl.sigmoid(x)
    elif OP == 16:
        y = tl.floor(x)
    elif OP == 17:
        y = tl.ceil(x)
    elif OP == 18:
        y = tl.erf(x)
    elif OP == 19:
        y = 0.5 * x * (1.0 + tl.erf(x * 0.70710678))
    elif OP == 20:
        y = tl.maximum(x, 0.0)
    elif OP == 21:
        y = tl.minimum(x, 0.0)
    elif OP == 22:
        y = tl.where(x > 0.0, x, 0.01 * x)
    elif OP == 23:
        y = tl.where(x > 0.0, x, tl.exp(x) - 1.0)
    elif OP == 24:
        y = tl.where(x > 0.0, 1.0, 0.0)
    elif OP == 25:
        y = tl.where(x < 0.0, 1.0, 0.0)
    elif OP == 26:
        y = tl.where(x == 0.0, 1.0, 0.0)
    elif OP == 27:
        y = tl.where(x != 0.0, 1.0, 0.0)
    elif OP == 28:
        y = x + 1.0
    elif OP == 29:
        y = x - 1.0
    elif OP == 30:
        y = 2.0 * x
    elif OP == 31:
        y = 0.5 * x
    elif OP == 32:
        y = 2.0 * x + 1.0
    elif OP == 33:
        y = tl.exp(-x)
    elif OP == 34:
        y = tl.log(1.0 + tl.exp(x))
    elif OP == 35:
        y = tl.sqrt(x * x + 1.0)
    elif OP == 36:
        y = tl.exp(-x * x)
    elif OP == 37:
        y = tl.sin(x) * tl.cos(x)
    elif OP == 38:
        y = x - tl.floor(x)
    elif OP == 39:
        y = 2.0 * tl.sigmoid(2.0 * x) - 1.0
    tl.store(out + at, y.to(v.dtype), mask=at < n)
