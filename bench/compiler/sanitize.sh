#!/usr/bin/env bash
# Runs the kernels of the benchmark, small, under compute-sanitizer:
#
#     CGO_ENABLED=0 go test -c -o bin/compiler-bench.test ./bench/compiler
#     bench/compiler/sanitize.sh bin/compiler-bench.test
#
# memcheck looks at every access, racecheck at shared memory between barriers,
# initcheck at reads of global memory that nothing has written, synccheck at
# barriers.
set -uo pipefail
[ $# = 1 ] || { echo "usage: bench/compiler/sanitize.sh test-binary" >&2; exit 2; }
binary="$(realpath "$1")"
export KILN_CACHE_DIR="$(mktemp -d)"
trap 'rm -rf "$KILN_CACHE_DIR"' EXIT
status=0
for tool in memcheck racecheck initcheck synccheck; do
	log="$(compute-sanitizer --tool "$tool" --error-exitcode 9 "$binary" -test.run TestCases/cuda -test.v 2>&1)" || status=1
	echo "== $tool"
	grep -E '^========= (ERROR|RACECHECK|Error|Hazard|Invalid|Barrier|Uninit)|--- FAIL|^panic' <<<"$log" | head -n 20
	echo "$(grep -c -- '--- PASS: TestCases/cuda/' <<<"$log") kernels passed"
	grep -q -- '--- PASS: TestCases/cuda ' <<<"$log" || { status=1; tail -n 20 <<<"$log"; }
done
exit $status
