package interp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMBarrier has what package races has no kernels for: barriers of the block and shuffles where
// some lanes come late, and barriers that are used wrongly.
func TestMBarrier(t *testing.T) {
	const head = `
module "m"
shared 0 "bar" [2]u64
kernel @K(%out: ptr<global,i64>, %n: i64, %in: ptr<global,i64>, %m: i64) args(out slice i64 "[]int", in slice i64 "[]int") {
b0:` + global + `
  %zero = const 0 : i64
  %one = const 1 : i64
  %half = const 32 : i64
  %s = shared 0 : ptr<shared,[2]u64>
  %p = index %s, %one : ptr<shared,u64>
  %o = offset %out, %i : ptr<global,i64>
  %first = eq %t, %zero : bool
  br %first, b1, b2
b1:
  mbarrier.init %p, %half
  jump b2
b2:
  barrier
  %low = lt %t, %half : bool
  br %low, b3, b4
b3:
  %done = mbarrier.test %p, %zero : bool
  br %done, b5(%one), b3
b4:
  mbarrier.arrive %p
  jump b5(%half)
b5(%x: i64):
`
	run := func(tail string, threads int) ([]int64, error) {
		out := make([]int64, 64)
		err := tryRun(load(t, head+tail), 1, threads, out, make([]int64, 64))
		return out, err
	}
	// Both halves meet, though the second is there first.
	out, err := run("  %y = shfl.xor %x, %one : i64\n  barrier\n  %z = add %y, %t : i64\n  store %o, %z\n  ret\n}\n", 64)
	require.NoError(t, err)
	for i, got := range out {
		want := i + 1
		if i >= 32 {
			want = i + 32
		}
		require.Equal(t, int64(want), got)
	}
	_, err = run("  ret\n}\n", 32)
	require.ErrorContains(t, err, "nobody completes")
	_, err = run("  mbarrier.arrive %p\n  ret\n}\n", 64)
	require.NoError(t, err)
	_, err = run("  mbarrier.init %p, %zero\n  ret\n}\n", 64)
	require.ErrorContains(t, err, "dsl.MBarrier of 0 arrivals")
	_, err = run("  %s2 = index %s, %zero : ptr<shared,u64>\n  mbarrier.arrive %s2\n  ret\n}\n", 64)
	require.ErrorContains(t, err, "more arrivals at a dsl.MBarrier")
}
