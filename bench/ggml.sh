#!/usr/bin/env bash
# Operations on block formats on one core of the CPU, beside those of the reference implementation:
#
#     GGML_SOURCE=llama.cpp/ggml GGML_BUILD=build bench/ggml.sh [regular expression of names]
#
# GGML_SOURCE  ggml's source, or another folder with include/ggml.h
# GGML_BUILD   folder with src/libggml.a, libggml-cpu.a and libggml-base.a, see README.md
# OUT          folder for results (default: ./ggml-results)
# SAMPLES      timed repetitions of Kiln's operations (default: 15)
#
# Both are timed by the processor time that they use, as others use the machine too, and the fastest
# repetitions count.
set -euo pipefail
only="${1:-.}"
source="$(cd "${GGML_SOURCE:?set GGML_SOURCE to the source of ggml}" && pwd)"
build="$(cd "${GGML_BUILD:?set GGML_BUILD to where it was built}" && pwd)"
out="${OUT:-ggml-results}"
mkdir -p "$out" && out="$(cd "$out" && pwd)"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go build -o "$out/tensor" ./bench/tensor
go build -o "$out/gpubench" ./bench/gpubench
"${CC:-gcc}" -O2 -Wall -I"$source/include" -o "$out/ggml" bench/peers/ggml.c \
	"$build/src/libggml.a" "$build/src/libggml-cpu.a" "$build/src/libggml-base.a" -lm -lpthread -lstdc++
"$out/ggml" "$only" >"$out/ggml.jsonl"
GOMAXPROCS=1 "$out/tensor" -processor -group quantized -only "$only" -samples "${SAMPLES:-15}" -json >"$out/kiln.jsonl"
"$out/gpubench" -ratio kiln/ggml "$out/kiln.jsonl" "$out/ggml.jsonl"
