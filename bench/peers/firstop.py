"""What a fresh process spends on 200 Triton kernels that are in Triton's cache, before it
has run each once, and on its first product by cuBLAS: the peers of bench/firstop. Imports and
the context are not counted.
"""

import ctypes
import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from common import attempt, row

KERNELS = 200
SIZES = 256, 4096  # of products
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


def library():
    """The path of cuBLAS: that of PyTorch's packages, else the system's."""
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations if spec else []:
        for path in sorted(glob.glob(os.path.join(folder, "*", "lib", "libcublas.so.*"))):
            return path
    return "libcublas.so"


def cublas(n):
    """Loads cuBLAS and multiplies BF16 matrices of n rows and columns, and returns the seconds."""
    from cuda.bindings import driver

    def ok(result):
        if int(result[0]) != 0:
            raise RuntimeError(str(result[0]))
        return result[1] if len(result) == 2 else None

    ok(driver.cuInit(0))
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(ok(driver.cuDeviceGet(0))))))
    a, b, c = (ctypes.c_void_p(int(ok(driver.cuMemAlloc(2 * n * n)))) for _ in range(3))
    for mem in a, b, c:
        ok(driver.cuMemsetD8(mem.value, 0, 2 * n * n))
    ok(driver.cuCtxSynchronize())
    alpha, beta = ctypes.c_float(1), ctypes.c_float(0)
    bf16, float32, default = 14, 68, -1  # CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT
    path = library()
    begin = time.perf_counter()
    lib = ctypes.CDLL(path)
    handle = ctypes.c_void_p()
    if lib.cublasCreate_v2(ctypes.byref(handle)) != 0:
        raise RuntimeError("cublasCreate failed")
    if lib.cublasGemmEx(handle, 0, 0, n, n, n, ctypes.byref(alpha), a, bf16, n, b, bf16, n, ctypes.byref(beta), c, bf16, n, float32, default) != 0:
        raise RuntimeError("cublasGemmEx failed")
    ok(driver.cuCtxSynchronize())
    return time.perf_counter() - begin


def torch_product(n):
    """The same by PyTorch, which loads cuBLAS when it is imported: only the first call counts."""
    import torch

    a, b = (torch.zeros(n, n, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    torch.cuda.synchronize()
    begin = time.perf_counter()
    torch.mm(a, b)
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def child(*args, **env):
    """Runs this script with arguments in a new process and returns what it measured, in ms."""
    done = subprocess.run([sys.executable, os.path.abspath(__file__), *map(str, args)], env={**os.environ, **env, "CUDA_CACHE_DISABLE": "1"},
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit status {done.returncode}")
    return json.loads(done.stdout) * 1e3


def measure_products():
    for n in SIZES:
        row("firstop", f"first bf16 product of {n}³, cold: compiled", "cublas", "ms", [child("cublas", n) for _ in range(REPEATS)],
            "the library loaded, a handle, the first call")
        row("firstop", f"first bf16 product of {n}³, warm: cached", "torch", "ms", [child("torch", n) for _ in range(REPEATS)],
            "the library is loaded: the first call of mm")


def process(first, last, cache):
    return child(first, last, TRITON_CACHE_DIR=cache)


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
    if len(sys.argv) > 1 and sys.argv[1] in ("cublas", "torch"):
        print(json.dumps({"cublas": cublas, "torch": torch_product}[sys.argv[1]](int(sys.argv[2]))))
    elif len(sys.argv) > 1:
        print(json.dumps(use(int(sys.argv[1]), int(sys.argv[2]))))
    else:
        attempt("firstop products", measure_products)
        attempt("firstop triton", measure)
