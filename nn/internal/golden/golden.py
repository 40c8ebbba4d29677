"""What the scripts that make golden.json files share: cases of functions with their gradients, as
PyTorch computes them in float64. The form of the file is in doc.go beside this file.
"""
import json
import math
import torch

torch.set_default_dtype(torch.float64)


def numbers(t):
    def one(v):
        if isinstance(v, int):
            return v
        return str(v) if math.isnan(v) or math.isinf(v) else float("%.15g" % v)
    return [one(v) for v in t.detach().reshape(-1).tolist()]


def packed(t):
    return {"shape": list(t.shape), "data": numbers(t), "i": not t.is_floating_point()}


class Golden:
    """Cases, and random operands that are short decimal numbers."""

    def __init__(self, seed):
        self.cases, self.gen = [], torch.Generator().manual_seed(seed)

    def case(self, name, f, *operands):
        xs = [x.clone().requires_grad_() if x.is_floating_point() else x for x in operands]
        out = f(*xs)
        seed = (torch.arange(out.numel()) % 3 + 1.0).reshape(out.shape)
        out.backward(seed)
        self.cases.append({"name": name, "in": [packed(x) for x in operands], "out": packed(out),
                           "grad": [numbers(x.grad) if x.grad is not None else None for x in xs if x.is_floating_point()]})

    def randn(self, *shape, scale=1.0):
        return (torch.randn(*shape, generator=self.gen) * scale).round(decimals=3)

    def rand(self, *shape, low, high):
        return (torch.rand(*shape, generator=self.gen) * (high - low) + low).round(decimals=3)

    def ids(self, n, *shape):
        return torch.randint(0, n, shape, generator=self.gen)

    def write(self, path):
        with open(path, "w") as f:
            f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in self.cases) + "\n]\n")
