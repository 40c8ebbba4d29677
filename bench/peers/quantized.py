"""Products of few rows with weights of 4 bits in PyTorch, the peer of `tensor -group quantized`.

PyTorch has no block formats of GGUF. Its own format for such products, of groups of 32 elements with a
scale and a minimum in bf16 (5 bits an element), is nearest to Q4_1.

    python3 bench/peers/quantized.py [--device cpu] [--samples N]
"""

import argparse
from itertools import cycle

import torch

from common import attempt, device_seconds, host_seconds, row

GROUP = 32  # elements with one scale and one minimum


def product(n, k, m, args):
    """Rates of reading the weight, of which the calls take one copy after another."""
    cpu, dt = args.device == "cpu", torch.bfloat16
    size = n * k // 2 + n * k // GROUP * 2 * 2
    if cpu:
        codes = torch.randint(0, 16, (n, k), dtype=torch.int32)
        pack, run = (lambda: torch._convert_weight_to_int4pack_for_cpu(codes, 1)), torch._weight_int4pack_mm_for_cpu
    else:
        codes = torch.randint(0, 256, (n, k // 2), dtype=torch.uint8, device=args.device)
        pack, run = (lambda: torch._convert_weight_to_int4pack(codes, 8)), torch._weight_int4pack_mm
    scales = torch.rand(k // GROUP, n, 2, device=args.device, dtype=dt) / 64
    copies = [(pack(), scales.clone()) for _ in range(-(-((96 if cpu else 256) << 20) // size))]
    x, turn = torch.randn(m, k, device=args.device, dtype=dt), cycle(copies)

    def call():
        weight, s = next(turn)
        return run(x, weight, GROUP, s)

    seconds = host_seconds if cpu else device_seconds
    most = {} if cpu else {"most": 10}
    times = seconds(torch, [call], args.samples, 0.2, **most)[0]
    name = f"quantized linear {m}x{n}x{k} bf16 and Q4_1"
    row("tensor", name, "torch", "GB/s", [size / t / 1e9 for t in times], f"its own 4 bits, groups of {GROUP}: {size} bytes")


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--device", default="cuda")
    flags.add_argument("--samples", type=int, default=30)
    args = flags.parse_args()
    n, k = (2048, 4096) if args.device == "cpu" else (14336, 4096)
    for rows, columns, m in ((n, k, 1), (k, n, 1), (n, k, 8)):
        attempt(f"int4 {m}x{rows}x{columns}", lambda: product(rows, columns, m, args))


if __name__ == "__main__":
    main()
