"""Makes golden.json: functions and their gradients as PyTorch computes them, in float64.

    python3 gen.py            # in this folder; PyTorch 2, CPU

The form of the file is that of package nn/internal/golden.
"""
import sys
import torch
import torch.nn.functional as F

sys.path.insert(0, "../../internal/golden")
from golden import Golden

golden = Golden(2)
case, randn = golden.case, golden.randn


def rand(*shape, low=0.1, high=2):
    return golden.rand(*shape, low=low, high=high)


x = torch.tensor([-200.0, -7.1, -3.5, -2.9, -1.2, -0.4, 0.3, 0.8, 1.6, 2.9, 3.4, 5.8, 6.3, 300.0])
for name, f in {
    "gelu": F.gelu, "gelu_new": lambda x: F.gelu(x, approximate="tanh"), "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "relu": F.relu, "relu2": lambda x: F.relu(x) ** 2, "relu6": F.relu6, "silu": F.silu, "sigmoid": torch.sigmoid,
    "hard_sigmoid": F.hardsigmoid, "tanh": torch.tanh, "mish": F.mish, "hard_swish": F.hardswish, "softplus": F.softplus,
    "softsign": F.softsign, "log_sigmoid": F.logsigmoid, "elu": F.elu, "elu(0.5)": lambda x: F.elu(x, 0.5), "celu": F.celu,
    "celu(2)": lambda x: F.celu(x, 2), "selu": F.selu, "leaky_relu": F.leaky_relu, "leaky_relu(0.2)": lambda x: F.leaky_relu(x, 0.2),
    "linear": lambda x: x * 1,
}.items():
    case("act " + name, f, x)


def halves(act):
    def f(x):
        a, b = x.chunk(2, -1)
        return act(a) * b
    return f


case("act swiglu", halves(F.silu), randn(3, 8, scale=3))
case("act geglu", halves(F.gelu), randn(3, 8, scale=3))
case("act reglu", halves(F.relu), randn(2, 2, 6, scale=3))
case("selu with", lambda x: 1.2 * F.elu(x, 0.7), randn(2, 3))
case("prelu one", F.prelu, randn(2, 3, 4), rand(1))
case("prelu channels", F.prelu, randn(2, 3, 4), rand(3))
case("prelu vector", lambda x, w: torch.where(x > 0, x, w * x), randn(5), rand(5))

case("group norm", lambda x, w, b: F.group_norm(x, 2, w, b), randn(2, 4, 3, 2), rand(4), randn(4))
case("group norm bare", lambda x: F.group_norm(x, 2, eps=1e-3), randn(2, 6, 3))
case("instance norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), randn(2, 3, 5), rand(3), randn(3))
case("batch norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), randn(3, 4, 2), rand(4), randn(4))
case("batch norm bare", lambda x: F.batch_norm(x, None, None, training=True, eps=1e-3), randn(5, 3))
case("batch norm running", lambda x, m, v, w, b: F.batch_norm(x, m.detach(), v.detach(), w, b), randn(3, 4, 2), randn(4), rand(4), rand(4), randn(4))
case("local response norm", lambda x: F.local_response_norm(x, 3, alpha=0.5, beta=0.75, k=1.5), randn(2, 5, 3))
case("local response norm even", lambda x: F.local_response_norm(x, 4, alpha=0.2), randn(2, 5, 2, 2))
case("normalize", lambda x: F.normalize(x), randn(3, 4))
case("normalize 1", lambda x: F.normalize(x, p=1, dim=0), randn(3, 4))
case("normalize 3", lambda x: F.normalize(x, p=3, dim=-1), randn(2, 3, 4))
case("normalize zero", lambda x: F.normalize(x, eps=0.1), torch.tensor([[0.01, 0.02], [3.0, 4.0]]))
case("cosine", lambda x, y: F.cosine_similarity(x, y), randn(3, 4), randn(3, 4))
case("cosine first", lambda x, y: F.cosine_similarity(x, y, dim=0, eps=0.5), randn(3, 4, 2), randn(3, 1, 2))

case("pixel shuffle", lambda x: F.pixel_shuffle(x, 2), randn(2, 8, 2, 3))
case("pixel unshuffle", lambda x: F.pixel_unshuffle(x, 2), randn(2, 2, 4, 6))
case("pixel shuffle bare", lambda x: F.pixel_shuffle(x, 3), randn(9, 1, 2))
case("channel shuffle", lambda x: x.reshape(2, 3, 2, 2, 2).transpose(1, 2).reshape(2, 6, 2, 2), randn(2, 6, 2, 2))


def tables(*shape):
    a = rand(*shape, low=-3, high=3)
    return a.cos().round(decimals=3), a.sin().round(decimals=3)


def rope(x, cos, sin, interleaved=False):  # of (b, h, t, d)
    n = 2 * cos.shape[-1]
    cos, sin = [(c if c.dim() == 2 else c[:, None])[..., : x.shape[2], :].detach() for c in (cos, sin)]
    a, b = (x[..., 0:n:2], x[..., 1:n:2]) if interleaved else (x[..., : n // 2], x[..., n // 2: n])
    u, v = a * cos - b * sin, a * sin + b * cos
    y = torch.stack((u, v), -1).flatten(-2) if interleaved else torch.cat((u, v), -1)
    return torch.cat((y, x[..., n:]), -1)


def thd(x, cos, sin):
    return rope(x.transpose(1, 2), cos, sin).transpose(1, 2)


case("rope", rope, randn(2, 3, 4, 6), *tables(5, 3))
case("rope partial", rope, randn(1, 2, 3, 7), *tables(3, 2))
case("rope batch", rope, randn(2, 2, 3, 4), *tables(2, 4, 2))
case("rope interleaved", lambda *a: rope(*a, True), randn(2, 3, 4, 6), *tables(5, 3))
case("rope interleaved partial", lambda *a: rope(*a, True), randn(2, 1, 3, 6), *tables(3, 2))
case("rope thd", thd, randn(2, 4, 3, 6), *tables(5, 3))
case("rope thd batch", thd, randn(2, 4, 3, 5), *tables(2, 5, 2))

golden.write("golden.json")
