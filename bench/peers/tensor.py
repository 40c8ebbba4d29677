"""The operations of bench/tensor in PyTorch, and in what torch.compile makes of them."""

import torch

from common import attempt, device_seconds, row


def elementwise():
    n = 64 << 20
    for name, dt, other in (("f32", torch.float32, torch.bfloat16), ("bf16", torch.bfloat16, torch.float32)):
        x, y = (torch.randn(n // 4096, 4096, device="cuda", dtype=dt) for _ in range(2))
        bias, mask = torch.randn(4096, device="cuda", dtype=dt), x > 0
        size, wide = n * x.element_size(), n * (6 - x.element_size())
        yield f"copy {name}", 2 * size, lambda: x.clone()
        yield f"add {name}", 3 * size, lambda: x + y
        yield f"broadcast add {name}", 2 * size, lambda: x + bias
        yield f"exp {name}", 2 * size, lambda: torch.exp(x)
        yield f"gelu {name}", 2 * size, lambda: torch.nn.functional.gelu(x)
        yield f"where {name}", 3 * size + n, lambda: torch.where(mask, x, y)
        yield f"cast {name}", size + wide, lambda: x.to(other)
        yield f"transpose copy {name}", 2 * size, lambda: x.t().contiguous()


GROUPS = [elementwise]


def measure(group):
    copied = None
    for name, amount, call in group():
        flops = amount < 0  # products of matrices count operations
        unit, scale = ("TFLOP/s", 1e12) if flops else ("GB/s", 1e9)
        for who, f in (("torch", call), ("torch.compile", torch.compile(call, dynamic=False))):
            times = device_seconds(torch, [f], samples=30, warm=0.2)[0]
            rates = [abs(amount) / s / scale for s in times]
            middle = sorted(rates)[len(rates) // 2]
            if name == "copy f32" and who == "torch":
                copied = middle
            row("tensor", name, who, unit, rates, f"{100 * middle / copied:.0f} % of the copy" if copied and not flops else "")


if __name__ == "__main__":
    for g in GROUPS:
        attempt(g.__name__, lambda: measure(g))
