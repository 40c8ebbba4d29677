#!/bin/sh
# Records what the common operations use on a GPU of 132 multiprocessors, with a stand-in for
# its driver that executes nothing, so that the record is the same on every machine.
set -e
dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
gcc -std=gnu11 -O1 -shared -fPIC -pthread -o "$dir/libcuda.so" ../../runtime/internal/cudatest/testdata/standin.c
KILN_CUDA_LIBRARY="$dir/libcuda.so" go run github.com/gokiln/kiln/bench/variants -device cuda:0 -record kernels.txt
