"""Bandwidth of a*x+y over 1 GiB arrays in PyTorch and Triton."""

import torch
import triton
import triton.language as tl

from common import attempt, device_seconds, row

N = 1 << 28
SIZE = 4 * N
FACTOR = 1.0 / 1024


@triton.jit
def saxpy(y, x, a, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(y + at, a * tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


def main():
    x, y = torch.randn(N, device="cuda"), torch.randn(N, device="cuda")
    blocks = [1024, 2048, 4096]
    calls = [("copy", "torch", 2, "copy_", lambda: y.copy_(x)),
             ("saxpy", "torch", 3, "add_ with alpha", lambda: y.add_(x, alpha=FACTOR))]
    for b in blocks:
        calls.append(("saxpy", "triton", 3, f"BLOCK={b}", lambda b=b: saxpy[(triton.cdiv(N, b),)](y, x, FACTOR, N, BLOCK=b)))
    for what, who, _, note, call in calls[2:]:
        want = torch.add(y, x, alpha=FACTOR)
        call()
        torch.testing.assert_close(y, want, msg=f"{who} {note}")
        del want
    times = device_seconds(torch, [c[-1] for c in calls], samples=200, warm=2.0)
    copy = 2 * SIZE / sorted(times[0])[len(times[0]) // 2]
    for (what, who, passes, note, _), t in zip(calls, times):
        rates = [passes * SIZE / s / 1e9 for s in t]
        if what != "copy":
            median = sorted(rates)[len(rates) // 2]
            note = f"{100 * median * 1e9 / copy:.1f} % of torch's copy; {note}"
        row("saxpy", what, who, "GB/s", rates, note)


if __name__ == "__main__":
    attempt("saxpy", main)
