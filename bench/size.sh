#!/bin/sh
# Prints the table of docs/deployment.md: how large programs are with the compiler and without it.
#   bench/size.sh
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# size DIR FLAGS...: the bytes of a program
size() {
	program=$1
	shift
	CGO_ENABLED=0 go build -o "$dir/program" "$@" "./$program"
	wc -c <"$dir/program"
}

# row NAME DIR FLAGS...: a line of the table
row() {
	name=$1 program=$2
	shift 2
	with=$(size "$program" "$@")
	without=$(size "$program" -tags kiln_nojit "$@")
	awk -v name="$name" -v a="$with" -v b="$without" '
	function spaced(n,  s) { for (; n >= 1000; n = int(n / 1000)) s = sprintf(" %03d", n % 1000) s; return n s }
	BEGIN { printf "| %s | %s | %s | %.1f MB, %.0f%% |\n", name, spaced(a), spaced(b), (a - b) / 1e6, 100 * (a - b) / a }'
}

printf '| bytes, %s/%s, Go %s | as it is | `-tags kiln_nojit` | saved |\n' "$(go env GOOS)" "$(go env GOARCH)" "$(go env GOVERSION | sed s/go//)"
echo '|---|---|---|---|'
row '`examples/swiglu`' examples/swiglu
row "the same with \`-ldflags='-s -w'\`" examples/swiglu -ldflags='-s -w'
row '`examples/customop`, with `ops` and `tensor`' examples/customop
row "the same with \`-ldflags='-s -w'\`" examples/customop -ldflags='-s -w'
