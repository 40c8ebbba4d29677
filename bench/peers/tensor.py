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


def reductions():
    n = 64 << 20
    for name, dt in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        x = torch.randn(n, device="cuda", dtype=dt)
        size = n * x.element_size()
        wide, short, long = x.view(-1, 4096), x.view(-1, 256), x.view(-1, 32768)
        yield f"sum all {name}", size, lambda: wide.sum()
        yield f"sum last 4096 {name}", size, lambda: wide.sum(1)
        yield f"sum last 256 {name}", size, lambda: short.sum(1)
        yield f"sum last 32768 {name}", size, lambda: long.sum(1)
        yield f"sum first 4096 {name}", size, lambda: wide.sum(0)
        yield f"argmax last 4096 {name}", size, lambda: wide.argmax(1)
        yield f"var last 4096 {name}", size, lambda: wide.var(1)
        yield f"logsumexp last 4096 {name}", size, lambda: wide.logsumexp(1)


def rows():
    n = 64 << 20
    f = torch.nn.functional
    for name, dt in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        flat = torch.randn(n, device="cuda", dtype=dt)
        size = 2 * n * flat.element_size()
        for wide in (256, 4096, 32768, 262144):
            x, w = flat.view(-1, wide), torch.randn(wide, device="cuda", dtype=dt)
            shape = f"{n // wide}x{wide} {name}"
            yield f"softmax {shape}", size, lambda x=x: torch.softmax(x, 1)
            yield f"rms_norm {shape}", size, lambda x=x, w=w: f.rms_norm(x, w.shape, w, 1e-5)
            yield f"layer_norm {shape}", size, lambda x=x, w=w: f.layer_norm(x, w.shape, w, w, 1e-5)
        x = flat.view(-1, 4096)
        shape = f"{n // 4096}x4096 {name}"
        yield f"log_softmax {shape}", size, lambda: torch.log_softmax(x, 1)
        yield f"softmax first {shape}", size, lambda: torch.softmax(x, 0)
        yield f"cumsum last {shape}", size, lambda: torch.cumsum(x, 1)
        yield f"cumsum first {shape}", size, lambda: torch.cumsum(x, 0)
        yield f"cumsum of one row 1x{n} {name}", size, lambda: torch.cumsum(flat, 0)


def sorts():
    n = 16 << 20
    for name, dt in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        flat = torch.randn(n, device="cuda", dtype=dt)
        size = 2 * n * flat.element_size() + 4 * n  # as if the indices had 32 bits
        for wide in (256, 1024, 32768, n):
            x = flat.view(-1, wide)
            yield f"sort {n // wide}x{wide} {name}", size, lambda x=x: torch.sort(x, 1, stable=True)


GROUPS = [elementwise, reductions, rows, sorts]


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
