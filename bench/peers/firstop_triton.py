"""Forty elementwise operations. A kernel takes one of them as a function, so that each is a
kernel of its own."""

import triton
import triton.language as tl

OPERATIONS = []


def operation(f):
    """Puts a function of one number into the list."""
    OPERATIONS.append(triton.jit(f))
    return OPERATIONS[-1]


@operation
def same(x):
    return x


@operation
def negative(x):
    return -x


@operation
def magnitude(x):
    return tl.abs(x)


@operation
def square(x):
    return x * x


@operation
def cube(x):
    return x * x * x


@operation
def reciprocal(x):
    return 1.0 / x


@operation
def root(x):
    return tl.sqrt(x)


@operation
def exp(x):
    return tl.exp(x)


@operation
def log(x):
    return tl.log(x)


@operation
def sine(x):
    return tl.sin(x)


@operation
def cosine(x):
    return tl.cos(x)


@operation
def exp2(x):
    return tl.exp2(x)


@operation
def log2(x):
    return tl.log2(x)


@operation
def reciprocal_root(x):
    return tl.rsqrt(x)


@operation
def sigmoid(x):
    return tl.sigmoid(x)


@operation
def silu(x):
    return x * tl.sigmoid(x)


@operation
def floor(x):
    return tl.floor(x)


@operation
def ceil(x):
    return tl.ceil(x)


@operation
def erf(x):
    return tl.erf(x)


@operation
def gelu(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.70710678))


@operation
def relu(x):
    return tl.maximum(x, 0.0)


@operation
def least(x):
    return tl.minimum(x, 0.0)


@operation
def leaky(x):
    return tl.where(x > 0.0, x, 0.01 * x)


@operation
def elu(x):
    return tl.where(x > 0.0, x, tl.exp(x) - 1.0)


@operation
def above(x):
    return tl.where(x > 0.0, 1.0, 0.0)


@operation
def below(x):
    return tl.where(x < 0.0, 1.0, 0.0)


@operation
def zero(x):
    return tl.where(x == 0.0, 1.0, 0.0)


@operation
def other(x):
    return tl.where(x != 0.0, 1.0, 0.0)


@operation
def next(x):
    return x + 1.0


@operation
def previous(x):
    return x - 1.0


@operation
def twice(x):
    return 2.0 * x


@operation
def half(x):
    return 0.5 * x


@operation
def affine(x):
    return 2.0 * x + 1.0


@operation
def decay(x):
    return tl.exp(-x)


@operation
def softplus(x):
    return tl.log(1.0 + tl.exp(x))


@operation
def hypotenuse(x):
    return tl.sqrt(x * x + 1.0)


@operation
def bell(x):
    return tl.exp(-x * x)


@operation
def double_sine(x):
    return tl.sin(x) * tl.cos(x)


@operation
def fraction(x):
    return x - tl.floor(x)


@operation
def tanh(x):
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@triton.jit
def unary(out, inp, n, F: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(inp + at, mask=at < n)
    y = F(v.to(tl.float32))
    tl.store(out + at, y.to(v.dtype), mask=at < n)
