"""SwiGLU from source to loaded function, each sample in a fresh process.

Imports, driver and context come first and are not counted, as in gpubench.
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

from common import attempt, row

REPEATS = 7

CUDA = b"""
extern "C" __global__ void swiglu(float *out, const float *gate, const float *up, long long n) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float g = gate[i];
        out[i] = g / (1.0f + expf(-g)) * up[i];
    }
}
"""


def triton_once():
    import torch
    from swiglu_triton import swiglu

    gate, up, out = (torch.randn(1024, device="cuda") for _ in range(3))
    torch.cuda.synchronize()
    begin = time.perf_counter()
    swiglu[(1,)](out, gate, up, 1024, BLOCK=1024)
    took = time.perf_counter() - begin
    torch.cuda.synchronize()
    torch.testing.assert_close(out, torch.nn.functional.silu(gate) * up)
    return took


def nvrtc_once():
    from cuda.bindings import driver, nvrtc

    def ok(result):
        if int(result[0]) != 0:
            raise RuntimeError(str(result[0]))
        return result[1] if len(result) == 2 else result[1:]

    ok(driver.cuInit(0))
    device = ok(driver.cuDeviceGet(0))
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(device))))
    attribute = driver.CUdevice_attribute
    major = ok(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))
    minor = ok(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))
    begin = time.perf_counter()
    program = ok(nvrtc.nvrtcCreateProgram(CUDA, b"swiglu.cu", 0, [], []))
    ok(nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture=sm_{major}{minor}".encode()]))
    cubin = b" " * ok(nvrtc.nvrtcGetCUBINSize(program))
    ok(nvrtc.nvrtcGetCUBIN(program, cubin))
    image = ctypes.cast(ctypes.c_char_p(cubin), ctypes.c_void_p).value
    module = ok(driver.cuModuleLoadData(image))
    ok(driver.cuModuleGetFunction(module, b"swiglu"))
    return time.perf_counter() - begin


def fresh(mode, env):
    """Runs this script in a new process and returns what it measured, in ms."""
    done = subprocess.run([sys.executable, os.path.abspath(__file__), mode], env={**os.environ, **env, "CUDA_CACHE_DISABLE": "1"},
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit status {done.returncode}")
    return json.loads(done.stdout) * 1e3


def measure_triton():
    cold, warm = [], []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as cache:
            for samples in cold, warm:
                samples.append(fresh("triton", {"TRITON_CACHE_DIR": cache}))
    row("cold", "cold: no cache", "triton", "ms", cold, "first launch of the kernel in the process")
    row("cold", "warm: cached", "triton", "ms", warm, "first launch of the kernel in the process")


def measure_nvrtc():
    row("cold", "cold: no cache", "nvrtc", "ms", [fresh("nvrtc", {}) for _ in range(REPEATS)], "CUDA C++ to cubin, loaded")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps({"triton": triton_once, "nvrtc": nvrtc_once}[sys.argv[1]]()))
    else:
        attempt("cold triton", measure_triton)
        attempt("cold nvrtc", measure_nvrtc)
