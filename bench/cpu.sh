#!/usr/bin/env bash
# Tensor operations on the CPU beside PyTorch's, on the same cores:
#
#     bench/cpu.sh [regular expression of names]
#
# PYTHON   interpreter with PyTorch (default: python3)
# OUT      folder for results (default: ./cpu-results)
# ROUNDS   how often both are measured, in turn (default: 3)
# SAMPLES  timed repetitions of an operation in a round (default: 15)
# DEVICE   cpu, or an engine of it (default: cpu)
# THREADS  of both (default: as many as there are cores)
# PROCESSOR=1 times by what a process uses of processors, which suits THREADS=1 on a busy machine
#
# What counts of each is the fastest tenth of the repetitions in the best round: what else
# runs on the machine slows the others, and slows PyTorch's threads, which wait for each
# other, more than Kiln's. One thread is the fairer comparison there.
set -euo pipefail
only="${1:-.}"
out="${OUT:-cpu-results}"
mkdir -p "$out" && out="$(cd "$out" && pwd)"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go build -o "$out/tensor" ./bench/tensor
go build -o "$out/gpubench" ./bench/gpubench
# Freed memory stays with the process, as it does in Kiln: else PyTorch's results would be
# slowed by the system, which clears every page again.
export MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592 MALLOC_TOP_PAD_=268435456
export PYTHONDONTWRITEBYTECODE=1
[ -z "${THREADS:-}" ] || export GOMAXPROCS="$THREADS" OMP_NUM_THREADS="$THREADS" MKL_NUM_THREADS="$THREADS"
processor=${PROCESSOR:+-processor}
rm -f "$out"/kiln-*.jsonl "$out"/torch-*.jsonl
for round in $(seq "${ROUNDS:-3}"); do
	"$out/tensor" -device "${DEVICE:-cpu}" -only "$only" -samples "${SAMPLES:-15}" $processor -json >"$out/kiln-$round.jsonl" || echo "not all of Kiln's operations were measured" >&2
	"${PYTHON:-python3}" bench/peers/tensor.py --device cpu --only "$only" --samples "${SAMPLES:-15}" ${processor/#-/--} >"$out/torch-$round.jsonl"
done
"$out/gpubench" -ratio kiln/torch "$out"/kiln-*.jsonl "$out"/torch-*.jsonl
