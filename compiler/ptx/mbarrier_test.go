package ptx

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// handover lets warp 0 hand a word of each thread to warp 1 by a barrier that counts arrivals.
const handover = `module "m"
shared 0 "bar" [2]u64
shared 1 "s" [32]i64
kernel @k(%0: ptr<global,i64>, %1: i64) args(out slice i64 "[]int") {
b0:
  %2 = shared 0 : ptr<shared,[2]u64>
  %3 = shared 1 : ptr<shared,[32]i64>
  %4 = const 0 : i64
  %5 = const 1 : i64
  %6 = const 31 : i64
  %7 = const 32 : i64
  %8 = index %2, %5 : ptr<shared,u64>
  %9 = thread 0 : i64
  %10 = and %9, %6 : i64
  %11 = index %3, %10 : ptr<shared,i64>
  %12 = eq %9, %4 : bool
  br %12, b1, b2
b1:
  mbarrier.init %8, %7
  jump b2
b2:
  barrier
  %13 = ge %9, %7 : bool
  br %13, b3, b4
b3:
  store %11, %9
  mbarrier.arrive %8
  ret
b4:
  %14 = mbarrier.test %8, %4 : bool
  br %14, b5, b4
b5:
  %15 = load %11 : i64
  %16 = offset %0, %9 : ptr<global,i64>
  store %16, %15
  ret
}
`

func TestMBarrier(t *testing.T) {
	for arch, want := range map[string]string{"sm_80": "mbarrier.test_wait.parity.shared.b64", "sm_90": "mbarrier.try_wait.parity.shared::cta.b64"} {
		text, err := Emit(parse(t, handover), mustTarget(t, arch))
		require.NoError(t, err)
		require.Contains(t, text, want)
		out := make([]byte, 32*8)
		args := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 1<<32), 32)
		require.NoError(t, simulate(text, [3]int{1, 1, 1}, [3]int{64, 1, 1}, args, [][]byte{out}))
		for i := range uint64(32) {
			require.Equal(t, 32+i, binary.LittleEndian.Uint64(out[8*i:]), text)
		}
		t.Run(arch, func(t *testing.T) { assemble(t, arch, text) })
	}
	for arch, text := range map[string]string{"sm_75": handover, "sm_80": strings.Replace(handover, "mbarrier.arrive %8", "mbarrier.arrive.expect %8, %7", 1)} {
		_, err := Emit(parse(t, text), mustTarget(t, arch))
		require.ErrorContains(t, err, "from sm_90 on")
	}
}
