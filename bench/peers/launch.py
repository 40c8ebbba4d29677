"""Host time of a small launch in PyTorch and Triton."""

import time

import torch
import triton

from common import attempt, row
from saxpy import saxpy

BATCH = 128  # as gpubench: few enough that the device's queue never fills
SAMPLES = 200


def host_ns(call, warm=1.0):
    until = time.monotonic() + warm
    samples = []
    while len(samples) < SAMPLES:
        begin = time.perf_counter_ns()
        for _ in range(BATCH):
            call()
        took = time.perf_counter_ns() - begin
        torch.cuda.synchronize()
        if time.monotonic() >= until:
            samples.append(took / BATCH)
    return samples


def main():
    x, y = torch.randn(256, device="cuda"), torch.randn(256, device="cuda")
    row("launch", "launch, 3 arguments", "triton", "ns", host_ns(lambda: saxpy[(1,)](y, x, 2.0, 256, BLOCK=256)), f"triton {triton.__version__}")
    row("launch", "launch, 3 arguments", "torch", "ns", host_ns(lambda: y.add_(x, alpha=2.0)), f"add_ with alpha, torch {torch.__version__}")


if __name__ == "__main__":
    attempt("launch", main)
