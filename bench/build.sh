#!/usr/bin/env bash
# Builds what bench/gpu.sh runs, for a Linux x86-64 machine with a GPU and
# without Go:
#
#     bench/build.sh folder
#
# The folder, or a .tar.gz of its content for a slow road, is what gpu.sh wants.
# A test binary is named after its package, with + for /, so that gpu.sh can run
# it in the package's folder, where its test data is.
set -euo pipefail
[ $# = 1 ] || { echo "usage: bench/build.sh folder" >&2; exit 2; }
mkdir -p "$1"
out="$(cd "$1" && pwd)"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CGO_ENABLED=0 GOOS=linux GOARCH=amd64

go build -trimpath -ldflags='-s -w' -o "$out/" ./bench/gpubench ./bench/tensor ./bench/firstop ./bench/load ./examples/edges ./examples/swiglu ./examples/transpose ./examples/gemm ./cmd/kiln \
	./tests/e2e/testdata/fault ./tests/e2e/testdata/lambda
# Code for the step firstop, of a record that the same step wrote where the GPU is: with
# ptxas machine code.
if [ -n "${KILN_FIRSTOP_RECORD:-}" ]; then
	CGO_ENABLED=0 go run ./cmd/kiln prebuild -from "$KILN_FIRSTOP_RECORD" -o "$out/kernels.kiln"
fi
# Packages whose tests do more where there is a GPU.
for pkg in runtime runtime/internal/cuda jit ops tensor nn nn/attention nn/fn nn/loss nn/optim nn/train quantized quantized/format \
	tests/conformance tests/irconf tests/nvrtc tests/ops tests/sim/hipcuda tests/e2e; do
	[ -n "$(find "$pkg" -maxdepth 1 -name '*_test.go' -print -quit 2>/dev/null)" ] || continue
	go test -c -trimpath -ldflags='-s -w' -o "$out/${pkg//\//+}.test" "./$pkg"
done
# Generated kernels, and what LLVM makes of them and of the suites, for the steps fuzz and
# llvm: the machine with the GPU needs no LLVM.
llvm=()
if command -v llc-19 >/dev/null || [ -n "${KILN_LLC:-}" ]; then
	llvm=(-llvm)
	for pkg in tests/conformance tests/irconf; do
		KILN_LLVM_RECORD="$out/${pkg//\//+}.llvm.zip" go test -count=1 -run '^TestRecordLLVM$' "./$pkg"
	done
fi
go run ./tests/fuzz/cmd/kilnfuzz -n "${KILN_FUZZ_N:-300}" -seed "${KILN_FUZZ_SEED:-1}" "${llvm[@]}" -o "$out/kilnfuzz"
# HIP over CUDA, for the step hip.
hipcuda=tests/sim/hipcuda/src
gcc -std=gnu11 -O1 -Wall -shared -fPIC -pthread -DPRELUDE="\"$hipcuda/prelude.h\"" \
	-o "$out/libamdhip64.so" "$hipcuda"/*.c -ldl
ls -l "$out"
