#!/usr/bin/env bash
# Tests and measures on an NVIDIA machine that need not have Go:
#
#     bench/build.sh bin                   # where Go is
#     KILN_BIN=bin bench/gpu.sh            # where the GPU is
#
# KILN_BIN  folder of binaries that build.sh wrote, or a .tar.gz of its content
# OUT       folder for results (default: ./gpu-results)
# PYTHON    interpreter for the peers (default: python3)
# STEPS     of: device tests nvrtc llvm hip fuzz edges gpubench firstop tensor quantized load peers (default: all),
#           and products: KILN_PRODUCTS random products of matrices, 100,000 without it
# KILN_NVRTC  NVRTC, if it is not in the usual places
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

# test_package runs the test binary of a package in the package's folder. The second
# argument is a name for the log, the others are put before the command. The variable only
# chooses tests, limit is the time they have in seconds.
test_package() {
	local pkg="$1" log="$out/$2.log"
	shift 2
	if (cd "$root/$pkg" && KILN_BIN="$bin" limited "${limit:-200}" env "$@" "$bin/${pkg//\//+}.test" -test.v -test.timeout "$((${limit:-200} - 10))s" -test.run "${only:-.}" >"$log" 2>&1); then
		echo "ok      $pkg: $(grep -c -- '--- PASS' "$log") passed, $(grep -c -- '--- SKIP' "$log") skipped"
	else
		fail "$pkg: $(grep -c -- '--- FAIL' "$log") failed, $(grep -c -- '--- PASS' "$log") passed"
		grep -vE '^=== |^ *--- |^PASS|^FAIL' "$log" | cut -c 1-400 | head -n 60 # what the tests say
		grep -- '--- FAIL' "$log" | tail -n 30
	fi
}

# step_tests runs every test binary.
step_tests() {
	local test pkg
	for test in "$bin"/*.test; do
		[ -e "$test" ] || { echo "no test binaries"; return; }
		pkg="$(basename "$test" .test)"
		case "$pkg" in
		tests+sim+hipcuda) ;; # has a step
		ops) limit=480 only='^TestOps$/^cuda' test_package ops ops KILN_DEVICE=cuda ;; # thousands of kernels; those of the CPU run elsewhere
		tests+ops) only='^Test(Attention(Splits|Sequences|Functions|Gradients)?|To|Memory)$' test_package tests/ops tests+ops KILN_DEVICE=cuda ;; # the others are about simulated devices
		*) test_package "${pkg//+//}" "$pkg" KILN_DEVICE=cuda ;;
		esac
	done
}

# step_products compares random products of matrices with float64.
step_products() {
	limit=590 only='^TestOps$/^cuda/^Matmul$/^Random' test_package ops products KILN_DEVICE=cuda KILN_PRODUCTS="${KILN_PRODUCTS:-100000}"
}

# step_nvrtc runs kernels as CUDA C++ text: every program of irconf, and the whole
# conformance suite.
step_nvrtc() {
	test_package tests/nvrtc nvrtc-irconf
	limit=500 only='^TestNVRTC$' test_package tests/conformance nvrtc-conformance KILN_THROUGH=nvrtc
}

# step_llvm runs the same as the PTX that LLVM made where build.sh ran.
step_llvm() {
	local pkg images
	for pkg in tests/irconf tests/conformance; do
		images="$bin/${pkg//\//+}.llvm.zip"
		[ -f "$images" ] || { fail "no $images: build.sh found no LLVM"; continue; }
		only='^TestLLVM$' test_package "$pkg" "llvm-${pkg##*/}" KILN_LLVM_IMAGES="$images"
	done
}

# step_fuzz runs generated kernels in all ways to the GPU.
step_fuzz() {
	local way
	for way in "" cuda llvm; do
		limited 300 "$bin/kilnfuzz" -device cuda:0 -through "$way" -j 8 >"$out/fuzz-${way:-ptx}.log" 2>&1 || fail "fuzz ${way:-ptx}"
		tail -n 25 "$out/fuzz-${way:-ptx}.log" | cut -c 1-400
	done
}

# step_hip runs the ROCm driver on this GPU: with a libamdhip64 that is made of
# libcuda and NVRTC, see tests/sim/hipcuda.
step_hip() {
	local hip="$bin/libamdhip64.so"
	[ -f "$hip" ] || { fail "no $hip"; return; }
	set -- KILN_HIP_LIBRARY="$hip" KILN_HIPRTC_LIBRARY="$hip" KILN_DEVICE=rocm:0
	limited 60 env "$@" "$bin/kiln" devices || fail "kiln devices"
	test_package tests/sim/hipcuda hip-conformance "$@"
	test_package runtime hip-runtime "$@"
	test_package tests/e2e hip-e2e "$@"
	limit=590 only='^TestOps$/^rocm' test_package ops hip-ops "$@"
	limited 60 env "$@" "$bin/edges" -device rocm:0 -compare cpu -out "$out/edges-hip.png" || fail "edges on rocm, compared with cpu"
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

# step_firstop measures what fresh processes spend on 200 kernels, beside Triton's. The
# record that it writes is what build.sh makes a bundle of.
step_firstop() {
	limited 60 "$bin/firstop" -device cuda -record "$out/firstop.txt" || fail "bench/firstop -record"
	limited 300 "$bin/firstop" -device cuda -bundle "$(ls "$bin/kernels.kiln" 2>/dev/null)" -samples "${SAMPLES:-5}" -json >"$out/kiln-firstop.jsonl" ||
		fail "bench/firstop"
	limited 120 "$bin/firstop" -device cuda -product 256,4096 -samples "${SAMPLES:-5}" -json >"$out/kiln-firstproduct.jsonl" ||
		fail "bench/firstop -product"
	PYTHONDONTWRITEBYTECODE=1 limited 200 "${PYTHON:-python3}" "$root/bench/peers/firstop.py" >"$out/peers-firstop.jsonl" ||
		fail "peers/firstop.py"
}

# step_tensor measures the tensor operations and PyTorch's.
step_tensor() {
	limited 60 "$bin/gemm" -device cuda -n 4096 | tee "$out/gemm.txt" || fail "gemm"
	limited 200 "$bin/tensor" -device cuda -group=-quantized -json >"$out/kiln-tensor.jsonl" || fail "bench/tensor"
	PYTHONDONTWRITEBYTECODE=1 limited 300 "${PYTHON:-python3}" "$root/bench/peers/tensor.py" >"$out/peers-tensor.jsonl" ||
		fail "peers/tensor.py"
	# The product by code for sm_80 on this card, beside Triton's.
	limited 60 "$bin/tensor" -device cuda -cc 80 -product bf16:4096x4096x4096 -only '^[^ ]* by' -json >"$out/kiln-sm80.jsonl" || fail "bench/tensor -cc 80"
	PYTHONDONTWRITEBYTECODE=1 limited 120 "${PYTHON:-python3}" "$root/bench/peers/sm80.py" >"$out/peers-sm80.jsonl" || fail "peers/sm80.py"
}

# step_quantized measures the operations on block formats, and PyTorch's product by weights of 4
# bits. Their kernels are many: most of the time is the first compilation of each.
step_quantized() {
	limited 240 "$bin/tensor" -device cuda -group quantized -samples 15 -warm 100ms -json >"$out/kiln-quantized.jsonl" || fail "bench/tensor -group quantized"
	PYTHONDONTWRITEBYTECODE=1 limited 120 "${PYTHON:-python3}" "$root/bench/peers/quantized.py" >"$out/peers-quantized.jsonl" || fail "peers/quantized.py"
}

# step_load measures how fast a file of 4 GB, which it writes to TMPDIR, comes to the device.
step_load() {
	limited 120 "$bin/load" -device cuda -json >"$out/kiln-load.jsonl" || fail "bench/load"
}

step_peers() {
	local script
	for script in saxpy launch cold; do
		PYTHONDONTWRITEBYTECODE=1 limited 200 "${PYTHON:-python3}" "$root/bench/peers/$script.py" >"$out/peers-$script.jsonl" ||
			fail "peers/$script.py"
	done
}

for step in ${STEPS:-device tests nvrtc llvm hip fuzz edges gpubench firstop tensor quantized load peers}; do
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
