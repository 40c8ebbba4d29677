"""What a fresh process spends on 200 Triton kernels that are in Triton's cache, before it
has run each once: the peer of bench/firstop. Imports and the context are not counted.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from common import attempt, row

KERNELS = 200
OPS = 40  # each with five types
REPEATS = 5
FILLERS = 8  # processes that fill the cache


def use(first, last):
    """Runs some of the kernels, each once, and returns the seconds."""
    import torch
    from firstop_triton import OPERATIONS, unary

    types = [torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.float64]
    x = {t: torch.ones(1, device="cuda").to(t) for t in types}
    out = {t: torch.empty_like(x[t]) for t in types}
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for i in range(first, last):
        t = types[i % len(types)]
        unary[(1,)](out[t], x[t], 1, F=OPERATIONS[i // len(types)], BLOCK=128)
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def process(first, last, cache):
    env = {**os.environ, "TRITON_CACHE_DIR": cache, "CUDA_CACHE_DISABLE": "1"}
    done = subprocess.run([sys.executable, os.path.abspath(__file__), str(first), str(last)], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit status {done.returncode}")
    return json.loads(done.stdout) * 1e3


def measure():
    assert OPS * 5 == KERNELS
    with tempfile.TemporaryDirectory() as cache:
        share = KERNELS // FILLERS
        with ThreadPoolExecutor(FILLERS) as pool:
            cold = list(pool.map(lambda i: process(i * share, (i + 1) * share, cache), range(FILLERS)))
        row("firstop", f"{KERNELS} kernels, cold: compiled", "triton", "ms", [sum(cold)], f"by {FILLERS} processes together, their times added")
        row("firstop", f"{KERNELS} kernels, warm: cached", "triton", "ms", [process(0, KERNELS, cache) for _ in range(REPEATS)],
            "imports and the context are not counted")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(use(int(sys.argv[1]), int(sys.argv[2]))))
    else:
        attempt("firstop triton", measure)
