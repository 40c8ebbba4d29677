"""The operations of bench/tensor in PyTorch, and on a GPU in what torch.compile makes of them.

    python3 bench/peers/tensor.py [--device cpu] [--only REGEX] [--samples N] [--processor]
"""

import argparse
import re
import time

import torch

from common import attempt, device_seconds, host_seconds, row

NAMES = {"f32": torch.float32, "bf16": torch.bfloat16, "f64": torch.float64}


class Bench:
    """What the groups of operations are made for; small is for the CPU, as in bench/tensor."""

    def __init__(self, device):
        self.device = device
        self.small = device == "cpu"

    def size(self, large, small):
        return small if self.small else large

    def randn(self, *shape, dtype=torch.float32):
        return torch.randn(*shape, device=self.device, dtype=dtype)


def elementwise(b):
    n = b.size(64 << 20, 4 << 20)
    for name, dt, other in (("f32", torch.float32, torch.bfloat16), ("bf16", torch.bfloat16, torch.float32)):
        x, y = (b.randn(n // 4096, 4096, dtype=dt) for _ in range(2))
        bias, mask = b.randn(4096, dtype=dt), x > 0
        size, wide = n * x.element_size(), n * (6 - x.element_size())
        yield f"copy {name}", 2 * size, lambda: x.clone()
        yield f"add {name}", 3 * size, lambda: x + y
        yield f"broadcast add {name}", 2 * size, lambda: x + bias
        yield f"exp {name}", 2 * size, lambda: torch.exp(x)
        yield f"gelu {name}", 2 * size, lambda: torch.nn.functional.gelu(x)
        yield f"where {name}", 3 * size + n, lambda: torch.where(mask, x, y)
        yield f"cast {name}", size + wide, lambda: x.to(other)
        yield f"transpose copy {name}", 2 * size, lambda: x.t().contiguous()


SHAPES = [
    (1024, 1024, 1024), (2048, 2048, 2048), (8192, 8192, 8192), (4096, 4096, 256), (4096, 4096, 1024), (4096, 4096, 16384),
    (4095, 4097, 4099), (16, 14336, 4096), (64, 14336, 4096), (256, 14336, 4096), (2048, 14336, 4096),
]


def matmul(b):
    side, wide = b.size(4096, 1024), b.size(4096, 2048)
    for name, dt in NAMES.items():
        def product(what, m, n, k, x, y, moves):
            amount = (m * k + k * n + m * n) * x.element_size() if moves else -2.0 * m * n * k
            return f"matmul {what} {name}", amount, lambda: x @ y

        x, y = b.randn(side, side, dtype=dt), b.randn(side, side, dtype=dt)
        yield product(f"{side}", side, side, side, x, y, False)
        yield product(f"{side} transposed", side, side, side, x.t(), y.t(), False)
        yield product("512", 512, 512, 512, b.randn(512, 512, dtype=dt), b.randn(512, 512, dtype=dt), False)
        yield product("64x64 of long sums", 64, 64, 16 * side, b.randn(64, 16 * side, dtype=dt), b.randn(16 * side, 64, dtype=dt), False)
        for m, n, k in SHAPES if name == "bf16" and not b.small else []:
            yield product(f"{m}x{n}x{k}", m, n, k, b.randn(m, k, dtype=dt), b.randn(k, n, dtype=dt), False)
        matrix = b.randn(wide, 4 * wide, dtype=dt)
        yield product("vector by rows", 1, wide, 4 * wide, b.randn(1, 4 * wide, dtype=dt), matrix.t(), True)
        yield product("vector by columns", 1, 4 * wide, wide, b.randn(1, wide, dtype=dt), matrix, True)
        yield product("4 vectors by rows", 4, wide, 4 * wide, b.randn(4, 4 * wide, dtype=dt), matrix.t(), True)
    yield from narrow(b)


def narrow(b):
    for n in (512, 1024) if b.small else (4096, 8192):
        x, w = (torch.randint(-64, 64, (n, n), dtype=torch.int8, device=b.device) for _ in range(2))
        yield f"matmul {n} weights i8", -2.0 * n**3, lambda: torch._int_mm(x, w.t())
        if not b.small:
            one = torch.ones((), device=b.device)
            p, q = (torch.rand(n, n, device=b.device).mul(2).sub(1).to(torch.float8_e4m3fn) for _ in range(2))
            for how, fast in (("scaled", False), ("scaled fast", True)):
                yield f"matmul {n} weights {how} f8e4m3", -2.0 * n**3, lambda fast=fast: torch._scaled_mm(p, q.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=fast)
            rows = torch.ones(n, 1, device=b.device)
            yield f"matmul {n} weights scaled rows f8e4m3", -2.0 * n**3, lambda: torch._scaled_mm(p, q.t(), rows, rows.t(), out_dtype=torch.bfloat16)


def layers(b):
    f, n, k = torch.nn.functional, b.size(14336, 2048), b.size(4096, 1024)
    for name, dt in (("bf16", torch.bfloat16), ("f32", torch.float32)):
        gate, up, bias = b.randn(n, k, dtype=dt), b.randn(n, k, dtype=dt), b.randn(n, dtype=dt)
        for m in (16, b.size(2048, 256)):
            x, residual, of = b.randn(m, k, dtype=dt), b.randn(m, n, dtype=dt), f"{m}x{n}x{k} {name}"
            amount = -2.0 * m * n * k
            yield f"linear {of}", amount, lambda: f.linear(x, gate)
            yield f"linear bias {of}", amount, lambda: f.linear(x, gate, bias)
            yield f"linear bias gelu {of}", amount, lambda: f.gelu(f.linear(x, gate, bias))
            yield f"linear bias residual {of}", amount, lambda: f.linear(x, gate, bias) + residual
            yield f"swiglu {of}", 2 * amount, lambda: f.silu(f.linear(x, gate)) * f.linear(x, up)


EXPERTS = [(8, 2048, 768, 68, 165), (128, 2048, 768, 68, 165), (8, 2048, 768, 3000, 5000), (128, 768, 2048, 68, 165), (128, 2048, 768, 1, 16)]


def grouped(b):
    """As in bench/tensor, with sizes of groups drawn alike."""
    product = getattr(torch.nn.functional, "grouped_mm", None) or getattr(torch, "_grouped_mm", None)
    if product is None or b.small:
        return
    random = torch.Generator().manual_seed(1)
    for count, k, n, least, most in EXPERTS:
        ends = torch.randint(least, most + 1, (count,), generator=random).cumsum(0)
        rows, ends = int(ends[-1]), ends.to(b.device, torch.int32)
        x, g = b.randn(rows, k, dtype=torch.bfloat16), b.randn(rows, n, dtype=torch.bfloat16)
        w, other = b.randn(count, k, n, dtype=torch.bfloat16), b.randn(count, n, k, dtype=torch.bfloat16).transpose(1, 2)
        name, amount = f"grouped {count} of {least}-{most}x{n}x{k}", -2.0 * rows * k * n
        yield f"{name} bf16", amount, lambda x=x, w=w, ends=ends: product(x, w, offs=ends)
        yield f"{name} transposed bf16", amount, lambda x=x, w=other, ends=ends: product(x, w, offs=ends)
        yield f"{name} gradient bf16", amount, lambda x=x, g=g, ends=ends: product(x.t(), g, offs=ends)


RESNET = [(64, 64, 56, 3, 1), (64, 256, 56, 1, 1), (128, 128, 28, 3, 1), (256, 256, 14, 3, 1), (512, 512, 7, 3, 1), (3, 64, 224, 7, 2), (128, 128, 56, 3, 2)]


def conv(b):
    batch, f = b.size(32, 1), torch.nn.functional

    def layer(name, call, x, weights, **how):
        out = call(x, weights, **how)
        return f"{name} f32", -2.0 * out.numel() * weights[0].numel(), lambda: call(x, weights, **how)

    yield layer("conv2d 3x3 64 of 56x56", f.conv2d, b.randn(batch, 64, 56, 56), b.randn(64, 64, 3, 3), padding=1)
    yield layer("conv2d 3x3 256 of 14x14", f.conv2d, b.randn(batch, 256, 14, 14), b.randn(256, 256, 3, 3), padding=1)
    yield layer("conv2d 1x1 256 of 56x56", f.conv2d, b.randn(batch, 64, 56, 56), b.randn(256, 64, 1, 1))
    yield layer("conv2d 3x3 depthwise 256 of 56x56", f.conv2d, b.randn(batch, 256, 56, 56), b.randn(256, 1, 3, 3), padding=1, groups=256)
    yield layer("conv1d 3 384 of 3000", f.conv1d, b.randn(batch, 80, 3000), b.randn(384, 80, 3), padding=1)
    for cin, cout, side, kernel, stride in [] if b.small else RESNET:
        x, w = b.randn(64, cin, side, side, dtype=torch.bfloat16), b.randn(cout, cin, kernel, kernel, dtype=torch.bfloat16)
        for order, how in (("last", torch.channels_last), ("first", torch.contiguous_format)):
            x, w = x.contiguous(memory_format=how), w.contiguous(memory_format=how)
            amount = -2.0 * f.conv2d(x, w, padding=kernel // 2, stride=stride).numel() * w[0].numel()
            name = f"conv2d {kernel}x{kernel}/{stride} {cin} of {side}x{side} to {cout} channels {order} bf16"
            yield name, amount, lambda x=x, w=w, kernel=kernel, stride=stride: f.conv2d(x, w, padding=kernel // 2, stride=stride)
    x, mean = b.randn(batch, 64, 112, 112), b.randn(batch, 64, 56, 56)
    pooled = 4 * (x.numel() + mean.numel())
    yield "avg_pool2d f32", pooled, lambda: f.avg_pool2d(x, 2)
    yield "max_pool2d f32", pooled, lambda: f.max_pool2d(x, 2)
    yield "upsample_nearest2d f32", pooled, lambda: f.interpolate(mean, scale_factor=2, mode="nearest")
    yield "upsample_bilinear2d f32", pooled, lambda: f.interpolate(mean, scale_factor=2, mode="bilinear")


def index(b):
    rows, wide = b.size(32768, 4096), b.size(4096, 1024)
    for name in ("f32", "bf16"):
        dt = NAMES[name]
        x, half = b.randn(rows, wide, dtype=dt), b.randn(rows // 2, wide, dtype=dt)
        ids = torch.arange(1, rows, 2, device=b.device)
        every = ids[:, None].expand(rows // 2, wide)
        size = 2 * half.numel() * half.element_size()
        yield f"index_select {name}", size, lambda: torch.index_select(x, 0, ids)
        yield f"gather {name}", size, lambda: torch.gather(x, 0, every)
        yield f"scatter {name}", size, lambda: x.scatter_(0, every, half)
        yield f"index_add {name}", 1.5 * size, lambda: x.index_add_(0, ids, half)
        yield f"flip {name}", size, lambda: torch.flip(half, (1,))


def reductions(b):
    n = b.size(64 << 20, 4 << 20)
    for name, dt in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        x = b.randn(n, dtype=dt)
        size = n * x.element_size()
        wide, short, long = x.view(-1, 4096), x.view(-1, 256), x.view(-1, 32768)
        yield f"sum all {name}", size, lambda: wide.sum()
        yield f"sum last 4096 {name}", size, lambda: wide.sum(1)
        yield f"sum last 256 {name}", size, lambda: short.sum(1)
        yield f"sum last 16 {name}", size, lambda: x.view(-1, 16).sum(1)
        yield f"sum last 32768 {name}", size, lambda: long.sum(1)
        yield f"sum first 4096 {name}", size, lambda: wide.sum(0)
        yield f"argmax last 4096 {name}", size, lambda: wide.argmax(1)
        yield f"var last 4096 {name}", size, lambda: wide.var(1)
        yield f"logsumexp last 4096 {name}", size, lambda: wide.logsumexp(1)


def rows(b):
    n, most = b.size(64 << 20, 4 << 20), b.size(128 << 20, 4 << 20)
    f = torch.nn.functional
    for name, dt in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        long = b.randn(most, dtype=dt)
        flat = long[:n]
        for wide in (256, 4096, 32768, 262144):
            x, w = (long if wide == 32768 else flat).view(-1, wide), b.randn(wide, dtype=dt)
            size, shape = 2 * x.numel() * x.element_size(), f"{x.numel() // wide}x{wide} {name}"
            yield f"softmax {shape}", size, lambda x=x: torch.softmax(x, 1)
            yield f"rms_norm {shape}", size, lambda x=x, w=w: f.rms_norm(x, w.shape, w, 1e-5)
            yield f"layer_norm {shape}", size, lambda x=x, w=w: f.layer_norm(x, w.shape, w, w, 1e-5)
        x = flat.view(-1, 4096)
        size, shape = 2 * n * x.element_size(), f"{n // 4096}x4096 {name}"
        yield f"log_softmax {shape}", size, lambda: torch.log_softmax(x, 1)
        yield f"softmax first {shape}", size, lambda: torch.softmax(x, 0)
        yield f"cumsum last {shape}", size, lambda: torch.cumsum(x, 1)
        yield f"cumsum first {shape}", size, lambda: torch.cumsum(x, 0)
        yield f"cumsum of one row 1x{n} {name}", size, lambda: torch.cumsum(flat, 0)


def sorts(b):
    n = b.size(16 << 20, 1 << 18)
    for name in ("f32", "bf16", "i64"):
        flat = torch.randint(-1 << 40, 1 << 40, (n,), device=b.device) if name == "i64" else b.randn(n, dtype=NAMES[name])
        size = 2 * n * flat.element_size() + 4 * n  # as if the indices had 32 bits
        for wide in (256, 1024, 32768, n):
            x = flat.view(-1, wide)
            yield f"sort {n // wide}x{wide} {name}", size, lambda x=x: torch.sort(x, dim=1, stable=True)


def picks(b):
    n = b.size(16 << 20, 1 << 18)
    for name in ("f32", "bf16", "i64"):
        flat = torch.randint(-1 << 40, 1 << 40, (n,), device=b.device) if name == "i64" else b.randn(n, dtype=NAMES[name])
        for wide in (4096, 32768, n):
            x, of = flat.view(-1, wide), f"{n // wide}x{wide} {name}"
            yield f"topk 64 of {of}", n * flat.element_size(), lambda x=x: torch.topk(x, 64, dim=1)
            if name != "i64":
                yield f"median of {of}", n * flat.element_size(), lambda x=x: torch.median(x, dim=1)


ATTENDS = [  # name, batch, heads, heads of keys, queries, keys, size, causal, with the gradient, window
    ("d128 4k", 4, 32, 32, 4096, 4096, 128, False, True, 0),
    ("d128 4k causal", 4, 32, 32, 4096, 4096, 128, True, True, 0),
    ("d128 16k causal, 32 heads on 8", 1, 32, 8, 16384, 16384, 128, True, True, 0),
    ("d64 1k causal", 16, 32, 32, 1024, 1024, 64, True, False, 0),
    ("d64 8k causal", 2, 32, 32, 8192, 8192, 64, True, True, 0),
    ("d256 4k causal", 2, 16, 16, 4096, 4096, 256, True, False, 0),
    ("d128 16k window 1024", 1, 32, 32, 16384, 16384, 128, True, False, 1024),
    ("decode 32k, 32 heads on 8", 1, 32, 8, 1, 32768, 128, True, False, 0),
    ("decode 32k, 32 heads on 8, batch 16", 16, 32, 8, 1, 32768, 128, True, False, 0),
]
SMALL_ATTENDS = [
    ("d64 512 causal", 1, 8, 8, 512, 512, 64, True, True, 0),
    ("d64 1k, 8 heads on 2", 1, 8, 2, 1024, 1024, 64, False, True, 0),
    ("decode 4k, 8 heads on 2", 1, 8, 2, 1, 4096, 64, True, False, 0),
]


def networks(b):
    name = "f32" if b.small else "bf16"
    dt, f = NAMES[name], torch.nn.functional
    yield from attentions(b, name, dt)
    rows, classes = b.size(8192, 256), b.size(131072, 32000)
    x = b.randn(rows, classes, dtype=dt).requires_grad_()
    ids = torch.arange(rows, device=b.device)

    def cross_entropy():
        return torch.autograd.grad(f.cross_entropy(x, ids), x)

    yield f"cross_entropy {rows}x{classes} and gradient {name}", 3 * rows * classes * x.element_size(), cross_entropy
    rows, wide = b.size(8192, 1024), b.size(4096, 1024)
    y, r, weight = b.randn(rows, wide, dtype=dt), b.randn(rows, wide, dtype=dt), torch.ones(wide, device=b.device, dtype=dt)

    def residual():
        total = y + r
        return total, f.rms_norm(total, (wide,), weight, 1e-6)

    yield f"residual add and rms_norm {rows}x{wide} {name}", 4 * rows * wide * y.element_size(), residual
    shape = (4, 32, 4096, 128) if not b.small else (1, 8, 1024, 64)
    z, half = b.randn(*shape, dtype=dt), shape[3] // 2
    angles = torch.outer(torch.arange(shape[2], device=b.device), 10000.0 ** (-torch.arange(half, device=b.device) / half))
    cos, sin = angles.cos().to(dt), angles.sin().to(dt)

    def rope():
        low, high = z[..., :half], z[..., half:]
        return torch.cat((low * cos - high * sin, low * sin + high * cos), -1)

    yield f"rope {'x'.join(map(str, shape))} {name}", 2 * z.numel() * z.element_size(), rope
    tensors, each = b.size(300, 30), b.size((1 << 30) // 300, (1 << 23) // 30)
    params = [b.randn(each).requires_grad_() for _ in range(tensors)]
    for p in params:
        p.grad = torch.randn_like(p)
    opt = torch.optim.AdamW(params, lr=1e-4, weight_decay=0.1, fused=True)
    yield f"adamw {tensors}x{each} f32", 28 * tensors * each, opt.step
    del params, opt
    yield gpt_step(b, name)


def attentions(b, name, dt):
    f = torch.nn.functional
    for what, batch, heads, shared, s, kv, d, causal, gradient, window in SMALL_ATTENDS if b.small else ATTENDS:
        q, k, v = (b.randn(batch, h, n, d, dtype=dt).requires_grad_(gradient) for h, n in ((heads, s), (shared, kv), (shared, kv)))
        pairs = s * window if window else s * kv / (2 if causal else 1)
        amount = -4.0 * batch * heads * d * pairs if s > 1 else 2 * batch * shared * kv * d * q.element_size()
        if window:
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention

            block = create_block_mask(lambda b, h, i, j: (j <= i) & (i - j < window), None, None, s, kv, device=b.device)
            flex = torch.compile(flex_attention)
            call = lambda q=q, k=k, v=v: flex(q, k, v, block_mask=block)
        else:
            call = lambda q=q, k=k, v=v: f.scaled_dot_product_attention(q, k, v, is_causal=causal and s > 1, enable_gqa=heads != shared)
        yield f"sdpa {what} {name}", amount, call
        if gradient:
            y = call()
            seed = torch.randn_like(y)
            yield f"sdpa {what} {name} gradient", 2.5 * amount, lambda y=y, q=q, k=k, v=v, seed=seed: torch.autograd.grad(y, (q, k, v), seed, retain_graph=True)


class GPT(torch.nn.Module):
    """GPT-2 as in bench/tensor: the weight of the last product is that of the embedding."""

    def __init__(self, vocabulary, context, dim, heads, layers):
        super().__init__()
        nn = torch.nn
        self.heads = heads
        self.token, self.position, self.norm = nn.Embedding(vocabulary, dim), nn.Embedding(context, dim), nn.LayerNorm(dim)
        torch.nn.init.normal_(self.token.weight, 0, 0.02)
        self.layers = nn.ModuleList(
            nn.ModuleList([nn.LayerNorm(dim), nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.Linear(dim, dim), nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)])
            for _ in range(layers)
        )

    def forward(self, ids, following):
        f = torch.nn.functional
        batch, time = ids.shape
        x = self.token(ids) + self.position.weight[:time]
        for norm1, norm2, qkv, proj, up, down in self.layers:
            q, k, v = qkv(norm1(x)).view(batch, time, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            x = x + proj(f.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, time, -1))
            x = x + down(f.gelu(up(norm2(x)), approximate="tanh"))
        logits = f.linear(self.norm(x), self.token.weight)
        return f.cross_entropy(logits.flatten(0, 1), following.flatten())


def gpt_step(b, name):
    vocabulary, context, dim, heads, layers, batch = (512, 64, 128, 4, 4, 8) if b.small else (50304, 1024, 768, 12, 12, 16)
    held = 0 if b.small else torch.cuda.memory_allocated()  # by what other rows measure
    model = GPT(vocabulary, context, dim, heads, layers).to(b.device, NAMES[name])
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1, fused=True)
    ids = torch.randint(vocabulary, (batch, context + 1), device=b.device)
    run = model if b.small else torch.compile(model)

    def step():
        opt.zero_grad(set_to_none=True)
        run(ids[:, :-1], ids[:, 1:]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()

    def peak():
        if b.small:
            return ""
        step()  # which makes the states of the optimiser
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        step()
        torch.cuda.synchronize()
        return f"peak of memory {(torch.cuda.max_memory_allocated() - held) / 1e9:.3f} GB"

    step.peak = peak
    params = vocabulary * dim + layers * 12 * dim * dim
    amount = -float(batch * context) * (6 * params + 6 * layers * context * dim)
    return f"gpt step of {batch * context} tokens, {layers} layers of {dim} {name}", amount, step


GROUPS = [elementwise, matmul, layers, grouped, conv, index, reductions, rows, sorts, picks, networks]
WITH_GRADIENTS = {networks}  # whose functions compile what pays themselves


def measure(group, b, args):
    copied = None
    for name, amount, call in group(b):
        if not args.only.search(name) and name != "copy f32":
            continue
        flops = amount < 0  # products of matrices count operations
        unit, scale = ("TFLOP/s", 1e12) if flops else ("GB/s", 1e9)
        ways, how = [("torch", call)], {"samples": args.samples, "warm": 0.2}
        if not b.small:
            how["most"] = 10  # as in bench/tensor
        elif args.processor:
            how["clock"] = time.process_time
        if not b.small and "gradient" not in name and "step" not in name and "adamw" not in name:
            torch._dynamo.reset()  # else it stops compiling after some shapes
            ways.append(("torch.compile", torch.compile(call, dynamic=False)))
        for who, f in ways:
            seconds = host_seconds if b.small else device_seconds
            times = seconds(torch, [f], **how)[0]
            rates = [abs(amount) / s / scale for s in times]
            middle = sorted(rates)[len(rates) // 2]
            if name == "copy f32" and who == "torch":
                copied = middle
            note = f"{100 * middle / copied:.0f} % of the copy" if copied and not flops else ""
            row("tensor", name, who, unit, rates, f.peak() if hasattr(f, "peak") else note)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", type=re.compile, default=re.compile("."))
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--processor", action="store_true", help="time by what the process uses of processors")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    bench = Bench(args.device)
    for g in GROUPS:
        with torch.enable_grad() if g in WITH_GRADIENTS else torch.inference_mode():
            attempt(g.__name__, lambda: measure(g, bench, args))
