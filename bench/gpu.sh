#!/usr/bin/env bash
# Tests and measures on an NVIDIA machine that need not have Go:
#
#     bench/build.sh bin                   # where Go is
#     KILN_BIN=bin bench/gpu.sh            # where the GPU is
#
# KILN_BIN  folder of binaries that build.sh wrote, or a .tar.gz of its content
# OUT       folder for results (default: ./gpu-results)
# PYTHON    interpreter for the peers (default: python3)
# STEPS     of: device tests edges gpubench peers (default: all of them)
#
# Nothing is installed and no setting of the GPU is changed. A step that fails
# is reported and the others go on; one table comes last.
set -uo pipefail
bin="${KILN_BIN:?set KILN_BIN to the folder that bench/build.sh wrote}"
scratch="$(mktemp -d)" || exit 2
trap 'rm -rf "$scratch"' EXIT
if [ -f "$bin" ]; then
	mkdir "$scratch/bin" && tar -xzf "$bin" -C "$scratch/bin" || exit 2
	bin="$scratch/bin"
fi
bin="$(cd "$bin" && pwd)" || exit 2
out="${OUT:-gpu-results}"
mkdir -p "$out" && out="$(cd "$out" && pwd)" || exit 2
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
root="$PWD"
chmod +x "$bin"/* 2>/dev/null
export KILN_CACHE_DIR="$scratch/cache"

status=0
fail() { echo "FAILED: $*"; status=1; }

# limited runs a command for at most so many seconds.
limited() { timeout -k 5 "$@"; }

step_device() {
	nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem,power.limit --format=csv,noheader ||
		fail "nvidia-smi"
	limited 60 "$bin/kiln" devices || fail "kiln devices"
}

# step_tests runs every test binary in its package's folder.
step_tests() {
	local test pkg
	for test in "$bin"/*.test; do
		[ -e "$test" ] || { echo "no test binaries"; return; }
		pkg="$(basename "$test" .test)"
		pkg="${pkg//+//}"
		if (cd "$root/$pkg" && KILN_BIN="$bin" KILN_DEVICE=cuda limited 200 "$test" -test.v -test.timeout 190s >"$out/${pkg//\//+}.log" 2>&1); then
			echo "ok      $pkg: $(grep -c -- '--- PASS' "$out/${pkg//\//+}.log") passed, $(grep -c -- '--- SKIP' "$out/${pkg//\//+}.log") skipped"
		else
			fail "$pkg"
			grep -E -A 12 -- '--- FAIL|^panic|^fatal' "$out/${pkg//\//+}.log" | head -n 30
		fi
	done
}

# step_edges makes the same picture on both devices; every pixel must agree.
step_edges() {
	limited 60 "$bin/edges" -device cuda -compare cpu -out "$out/edges-cuda.png" || { fail "edges on cuda, compared with cpu"; return; }
	limited 60 "$bin/edges" -device cpu -out "$out/edges-cpu.png" || { fail "edges on cpu"; return; }
	if cmp "$out/edges-cuda.png" "$out/edges-cpu.png"; then echo "edges: the same file from cuda and cpu"; else fail "edges differ"; fi
	limited 60 "$bin/swiglu" -device cuda || fail "swiglu"
}

step_gpubench() {
	local suite
	for suite in saxpy launch cold; do
		limited 120 "$bin/gpubench" -suite "$suite" -json >"$out/kiln-$suite.jsonl" || fail "gpubench $suite"
	done
}

step_peers() {
	local script
	for script in saxpy launch cold; do
		PYTHONDONTWRITEBYTECODE=1 limited 200 "${PYTHON:-python3}" "$root/bench/peers/$script.py" >"$out/peers-$script.jsonl" ||
			fail "peers/$script.py"
	done
}

for step in ${STEPS:-device tests edges gpubench peers}; do
	echo "== $step"
	begin=$SECONDS
	"step_$step"
	echo "   ($((SECONDS - begin)) s)"
done

echo "== table"
shopt -s nullglob
"$bin/gpubench" -table "$out"/kiln-*.jsonl "$out"/peers-*.jsonl | tee "$out/table.txt" || fail "table"
[ $status = 0 ] && echo "all steps passed"
exit $status
