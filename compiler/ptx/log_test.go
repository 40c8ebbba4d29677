package ptx

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/internal/devlog"
)

// logKernel prints in threads below n, asserts that the block is not the last, and
// stores in the threads that come so far.
const logKernel = `module "log"
text 0 "%d %v %t %v\n"
text 1 "not the last"

kernel @k(%0: ptr<global,i32>, %1: i64, %2: i8, %3: f32) args(out slice i32 "[]int32", n scalar i8 "int8", x scalar f32 "float32") {
b0:
  %4 = thread 1 : i64
  %5 = convert %2 : i64
  %6 = lt %4, %5 : bool
  br %6, b1, b2
b1:
  %7 = convert %3 : bf16
  print %2, %3, %6, %7, 0
  jump b2
b2:
  %8 = block 2 : i64
  %9 = const 1 : i64
  %10 = ne %8, %9 : bool
  assert %10, 1
  %11 = blockdim 1 : i64
  %12 = mul %8, %11 : i64
  %13 = add %12, %4 : i64
  %14 = offset %0, %13 : ptr<global,i32>
  %15 = convert %13 : i32
  store %14, %15
  ret
}
`

// runLog runs logKernel with a log of so many words behind the counts, which begin as
// given.
func runLog(t *testing.T, words int, counts ...uint32) (out, log []byte, sites []devlog.Site) {
	for _, arch := range []string{"sm_70", "sm_90"} {
		m, err := ir.Parse(logKernel)
		require.NoError(t, err)
		sites = pass.LowerLog(m, true)
		require.NoError(t, ir.Verify(m))
		text, err := Emit(m, mustTarget(t, arch))
		require.NoError(t, err)
		out, log = make([]byte, 8*4), make([]byte, devlog.CountBytes+8*words)
		for i := range out {
			out[i] = 0xEE
		}
		for i, n := range counts {
			binary.LittleEndian.PutUint32(log[4*i:], n)
		}
		var args []byte
		for _, w := range []uint64{1 << 32, 8, 0x3f000000_00000002, 2 << 32, devlog.Counts, 2<<32 + devlog.CountBytes, uint64(words), 3<<32 | 7} {
			args = binary.LittleEndian.AppendUint64(args, w)
		}
		require.NoError(t, simulate(text, [3]int{1, 1, 2}, [3]int{1, 4, 1}, args, [][]byte{out, log}), text)
		if findAssembler() != nil && findAssembler().archs[arch] {
			assemble(t, arch, text)
		}
	}
	return out, log, sites
}

func TestLog(t *testing.T) {
	out, log, sites := runLog(t, 100)
	counts, words := logWords(log)
	require.Equal(t, [devlog.Counts]uint32{4*9 + 4*7}, counts)
	kernel := &devlog.Log{Kernel: "k", Sites: sites}
	var got strings.Builder
	for _, r := range devlog.Read(words, nil, func(id uint32) *devlog.Log {
		require.EqualValues(t, 3, id)
		return kernel
	}) {
		require.EqualValues(t, 7, r.Launch)
		if r.Site.Fails {
			fmt.Fprintln(&got, &devlog.Failure{Record: r})
		} else {
			fmt.Fprint(&got, r.Block, r.Thread, r.Text())
		}
	}
	require.Equal(t, `[0 0 0] [0 0 0]2 0.5 true 0.5
[0 0 0] [0 1 0]2 0.5 true 0.5
[0 0 1] [0 0 0]2 0.5 true 0.5
kernel k: block (0,0,1), thread (0,0,0): assertion failed: not the last
[0 0 1] [0 1 0]2 0.5 true 0.5
kernel k: block (0,0,1), thread (0,1,0): assertion failed: not the last
kernel k: block (0,0,1), thread (0,2,0): assertion failed: not the last
kernel k: block (0,0,1), thread (0,3,0): assertion failed: not the last
`, got.String())
	for i := range 8 {
		v := binary.LittleEndian.Uint32(out[4*i:])
		if i < 4 {
			require.EqualValues(t, i, v)
		} else {
			require.EqualValues(t, 0xEEEEEEEE, v, "a thread goes on after its assertion failed")
		}
	}
}

// logWords takes the memory of a log apart.
func logWords(log []byte) (counts [devlog.Counts]uint32, words []uint64) {
	for i := range counts {
		counts[i] = binary.LittleEndian.Uint32(log[4*i:])
	}
	for log = log[devlog.CountBytes:]; len(log) > 0; log = log[8:] {
		words = append(words, binary.LittleEndian.Uint64(log))
	}
	return counts, words
}

// A log that is full is not added to: the first record that found no room is.
func TestLogWithoutRoom(t *testing.T) {
	_, log, _ := runLog(t, 9+7)
	counts, _ := logWords(log)
	require.Greater(t, counts[devlog.Used], uint32(9+7))
	require.Less(t, counts[devlog.Used], uint32(4*9+4*7))
	require.EqualValues(t, 7, counts[devlog.Lost])
	require.EqualValues(t, 4, counts[devlog.Failed])
	for launch := range uint32(devlog.FailedBits) {
		require.Equal(t, launch == 7, devlog.FailedBit(counts[:], launch), launch)
	}
}

// Counts do not come back to zero, however many records are lost.
func TestLogStopsCounting(t *testing.T) {
	begin := [devlog.Counts]uint32{devlog.Used: 1<<32 - 1, devlog.Lost: devlog.Most, devlog.Failed: 5, devlog.Which: 1 << 7}
	_, log, _ := runLog(t, 100, begin[:]...)
	counts, _ := logWords(log)
	require.Equal(t, begin, counts)
}
