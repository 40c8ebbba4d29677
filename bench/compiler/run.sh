#!/usr/bin/env bash
# Compiles the twins with nvcc and runs the benchmark beside them:
#
#     CGO_ENABLED=0 go build -o bin/compiler-bench ./bench/compiler
#     bench/compiler/run.sh bin/compiler-bench [flags]
#
# The twins are compiled twice: with --fmad=false, which is Go's arithmetic (a
# fused operation only where the source says so, as dsl.FMA and fmaf do), and
# with nvcc's default, which contracts products and sums.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: bench/compiler/run.sh binary [flags]" >&2; exit 2; }
binary="$(realpath "$1")"
shift
cd "$(dirname "${BASH_SOURCE[0]}")/cuda"
cubins="$(mktemp -d)"
trap 'rm -rf "$cubins"' EXIT
nvcc --version | sed -n 4p
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm --format=csv,noheader
pids=()
for f in *.cu; do
	nvcc -O3 -arch=sm_90 --fmad=false -cubin -o "$cubins/${f%.cu}.cubin" "$f" & pids+=($!)
	nvcc -O3 -arch=sm_90 -cubin -o "$cubins/${f%.cu}.fmad.cubin" "$f" & pids+=($!)
done
for p in "${pids[@]}"; do wait "$p"; done
export KILN_CACHE_DIR="$cubins/cache"
"$binary" -cubins "$cubins" "$@"
