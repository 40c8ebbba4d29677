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

go build -trimpath -ldflags='-s -w' -o "$out/" ./bench/gpubench ./examples/edges ./examples/swiglu ./cmd/kiln \
	./tests/e2e/testdata/fault ./tests/e2e/testdata/lambda
# Packages whose tests do more where there is a GPU.
for pkg in runtime runtime/internal/cuda jit tests/conformance tests/irconf tests/nvrtc tests/sim/hipcuda tests/e2e; do
	[ -n "$(find "$pkg" -maxdepth 1 -name '*_test.go' -print -quit 2>/dev/null)" ] || continue
	go test -c -trimpath -ldflags='-s -w' -o "$out/${pkg//\//+}.test" "./$pkg"
done
# HIP over CUDA, for the step hip.
hipcuda=tests/sim/hipcuda/src
gcc -std=gnu11 -O1 -Wall -shared -fPIC -pthread -DPRELUDE="\"$hipcuda/prelude.h\"" \
	-o "$out/libamdhip64.so" "$hipcuda"/*.c -ldl
ls -l "$out"
