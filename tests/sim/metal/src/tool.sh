#!/bin/sh
# metal -x metal -std=metal3.0 -mmacosx-version-min=13.0 -fno-fast-math -O2 -o out in
if [ "$1" = --version ]; then
	echo "Apple metal version 32023.1 (simulated)"
	echo "Target: air64-apple-darwin24.0.0"
	exit 0
fi
fail() {
	echo "metal: error: $*" >&2
	exit 1
}
[ $# = 9 ] && [ "$1 $2" = "-x metal" ] && [ "$5 $6 $7" = "-fno-fast-math -O2 -o" ] || fail "unexpected options: $*"
case "$3 $4" in
"-std=macos-metal2.4 -mmacosx-version-min=12.0") version=24 ;;
"-std=metal3.0 -mmacosx-version-min=13.0") version=30 ;;
"-std=metal3.1 -mmacosx-version-min=14.0") version=31 ;;
"-std=metal3.2 -mmacosx-version-min=15.0") version=32 ;;
*) fail "invalid value '${3#-std=}' in '$3'" ;; # it is not the newest
esac
{ echo "simulated metallib $version" && cat "$9"; } >"$8"
