package interp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// warpKernel writes for each thread: the lane, the warp, the warp's size, a
// neighbour's index by each kind of shuffle, and the votes on whether the lane is odd.
const warpKernel = `
module "m"
kernel @Warps(%out: ptr<global,u64>, %n: i64) args(out slice u64 "[]uint64") {
b0:` + global + `
  %lane = lane : i64
  %warp = warp : i64
  %size = warpsize : i64
  %one = const 1 : i64
  %three = const 3 : i64
  %five = const 5 : i64
  %a = shfl.up %t, %one : i64
  %c = shfl.down %t, %three : i64
  %d = shfl.xor %t, %five : i64
  %e = shfl.idx %t, %five : i64
  %odd = and %lane, %one : i64
  %q = eq %odd, %one : bool
  %v = ballot %q : u64
  %any = any %q : bool
  %all = all %q : bool
  %s0 = shl %warp, %ten : i64
  ret
}
`

func TestWarpSizes(t *testing.T) {
	const threads = 96
	text := strings.Replace(warpKernel, "  %s0 = shl %warp, %ten : i64\n", warpStores, 1)
	for _, n := range []int{4, 8, 16, 32} {
		p, err := Load("warps", []byte(text), Warp(n))
		require.NoError(t, err)
		out := make([]uint64, 9*2*threads)
		run(t, p, 2, threads, out)
		for block := range 2 {
			for i := range threads {
				lane, first := i%n, i-i%n
				from := func(l int) uint64 {
					if l < 0 || l >= n {
						l = lane
					}
					return uint64(first + l)
				}
				want := []uint64{uint64(lane), uint64(i / n), uint64(n), from(lane - 1), from(lane + 3), from(lane ^ 5), from(5 % n),
					0xaaaaaaaa & (1<<n - 1), 1}
				at := 9 * (block*threads + i)
				assert.Equal(t, want, out[at:at+9], "warps of %d, thread %d", n, i)
			}
		}
		if n > 4 {
			require.ErrorContains(t, tryRun(p, 1, n+4, out), fmt.Sprintf("multiple of %d threads, not %d", n, n+4))
		}
	}
	for _, n := range []int{-8, 0, 2, 12, 64} {
		_, err := Load("warps", []byte(text), Warp(n))
		require.ErrorContains(t, err, "power of two")
	}
}

// warpStores writes the values of warpKernel, one after the other for each thread.
var warpStores = func() string {
	var b strings.Builder
	b.WriteString("  %nine = const 9 : i64\n  %base = mul %i, %nine : i64\n")
	for i, v := range []string{"lane", "warp", "size", "a", "c", "d", "e"} {
		fmt.Fprintf(&b, "  %%u%[1]d = bitcast %%%[2]s : u64\n  %%k%[1]d = const %[1]d : i64\n  %%j%[1]d = add %%base, %%k%[1]d : i64\n"+
			"  %%p%[1]d = offset %%out, %%j%[1]d : ptr<global,u64>\n  store %%p%[1]d, %%u%[1]d\n", i, v)
	}
	b.WriteString(`  %seven = const 7 : i64
  %j7 = add %base, %seven : i64
  %p7 = offset %out, %j7 : ptr<global,u64>
  store %p7, %v
  %eight = const 8 : i64
  %j8 = add %base, %eight : i64
  %p8 = offset %out, %j8 : ptr<global,u64>
  %zero = const 0 : u64
  %unit = const 1 : u64
  %two = const 2 : u64
  %x8 = select %any, %unit, %zero : u64
  %y8 = select %all, %two, %zero : u64
  %z8 = add %x8, %y8 : u64
  store %p8, %z8
`)
	return b.String()
}()
