package conformance

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// RunFaults compares what checked code reports with what Go panics with.
func RunFaults(t *testing.T, dev *runtime.Device) {
	cursors := Case{Name: "Cursors", Kernel: kernels.Cursors, Grid: dsl.D1(2), Threads: dsl.D1(32), Args: []any{make([]int64, 60), make([]int64, 5)}}
	for _, checked := range []bool{false, true} {
		t.Run(fmt.Sprintf("Cursors/%t", checked), func(t *testing.T) { require.NoError(t, check(dev, cursors, checked)) })
	}
	t.Run("Fault", func(t *testing.T) { checkFaults(t, dev) })
	t.Run("FaultAll", func(t *testing.T) { checkFaultAll(t, dev) })
	t.Run("FaultFrom", func(t *testing.T) { checkFaultFrom(t, dev) })
	t.Run("FaultStride", func(t *testing.T) { checkFaultStride(t, dev) })
	t.Run("FaultRun", func(t *testing.T) { checkFaultRun(t, dev) })
	t.Run("FaultUnchecked", func(t *testing.T) { checkUnchecked(t, dev) })
}

// faults are arguments x, y and z of the kernel Fault, whose slice has 20 elements,
// and what the message has behind Go's.
var faults = []struct {
	fault, x, y, z int
	more           string
}{
	{0, 20, 0, 0, ""},
	{0, -1, 0, 0, ""},
	{0, 1 << 40, 0, 0, ""},
	{1, 1<<32 + 1, 0, 0, ""},
	{1, -1, 0, 0, ""}, // 1<<64 - 1
	{2, -128, 0, 0, ""},
	{3, 5, 0, 2, ""},
	{3, math.MinInt64, 0, 2, ""},
	{4, 8, 0, 0, ""},
	{5, 21, 0, 0, ""},
	{5, -3, 0, 0, ""},
	{6, 21, 0, 0, ""},
	{6, -1, 0, 0, ""},
	{7, 5, 4, 0, ""},
	{7, 5, 21, 0, ""},
	{7, -5, 4, 0, ""},
	{8, 1, 2, 21, ""},
	{8, 1, 3, 2, ""},
	{8, 4, 3, 5, ""},
	{8, -4, 3, 5, ""},
	{9, 0, -1, 5, ""},
	{9, 0, 1, -5, ""},
	{10, 6, 0, 0, ""},
	{10, -6, 0, 0, ""},
	{11, 7, 6, 0, ""},
	{11, 7, 9, 0, ""},
	{12, 1, 2, 6, ""},
	{12, 1, 7, 5, ""},
	{13, 21, 0, 0, ""},
	{13, -7, 0, 0, ""},
	{14, 1, 5, 0, ""},
	{14, 1, 3, 2, ""},
	{15, 7, 0, 0, " (dividend 7)"},
	{15, math.MinInt64, 0, 0, " (dividend -9223372036854775808)"},
	{16, -2, 0, 0, " (dividend 18446744073709551614)"},
	{17, -5, 256, 0, " (dividend -5)"},
	{18, 65535, 0, 0, " (dividend 65535)"},
	{19, 1 << 31, 1 << 32, 0, " (dividend -2147483648)"},
	{20, 1, -1, 0, " (-1)"},
	{21, 1, 128, 0, " (-128)"},
	{22, 1, 2, 0, ""},
	{23, 1, 2, 0, ""},
	{24, 5, 0, 0, ""},
	{25, 6, 0, 0, ""},
	{25, -1, 0, 0, ""},
}

const faultLen = 20

var (
	faultGrid  = dsl.D3(2, 1, 3)
	faultBlock = dsl.D3(4, 2, 2)
)

// goPanic takes the error of a kernel as plain Go apart: the thread, the line and the
// message.
var goPanic = regexp.MustCompile(`^dsltest: (?:kernel panic: |(assertion failed: ))(block \(\d,\d,\d\), thread \(\d,\d,\d\)), \S*/fault\.go:(\d+): (?:runtime error: )?(.*)$`)

// launchFault runs the kernel Fault.
func launchFault(t *testing.T, k *jit.Kernel, dev *runtime.Device, fault, thread, x, y, z int) runtime.Slice[int64] {
	out := upload32(t, dev, make([]int64, faultLen))
	grid := runtime.Grid{Blocks: runtime.Dim3(faultGrid), Threads: runtime.Dim3(faultBlock)}
	require.NoError(t, k.Launch(dev.DefaultStream(), grid, out, fault, thread, x, y, z))
	return out
}

// faultText runs the kernel Fault checked, and returns its error without what names
// the device.
func faultText(t *testing.T, dev *runtime.Device, fault, thread, x, y, z int) string {
	launchFault(t, jit.Of(kernels.Fault).Checked(), dev, fault, thread, x, y, z)
	err := dev.DefaultStream().Sync()
	require.ErrorIs(t, err, runtime.ErrLaunch, "fault %d with %d, %d, %d", fault, x, y, z)
	require.NoError(t, dev.DefaultStream().Sync(), "it is reported once")
	text, ok := strings.CutPrefix(err.Error(), dev.Name()+": kernel Fault failed: ")
	require.True(t, ok, err.Error())
	return text
}

// checkFaults compares each fault with that of plain Go and with that on the CPU, and
// goes on with the device.
func checkFaults(t *testing.T, dev *runtime.Device) {
	cpu, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer cpu.Close()
	tried := map[int]bool{}
	for i, f := range faults {
		tried[f.fault] = true
		thread := (7 * i) % 90
		wrong := dsltest.Run(faultGrid, faultBlock, func(th dsl.Thread) { kernels.Fault(th, make([]int64, faultLen), f.fault, thread, f.x, f.y, f.z) })
		require.Error(t, wrong, "fault %d", f.fault)
		parts := goPanic.FindStringSubmatch(wrong.Error())
		require.NotNil(t, parts, wrong.Error())

		text := faultText(t, dev, f.fault, thread, f.x, f.y, f.z)
		assert.Equal(t, faultText(t, cpu, f.fault, thread, f.x, f.y, f.z), text, "as on the CPU")
		place, rest, _ := strings.Cut(text, ": ")
		assert.Regexp(t, `(^|/)kernels/fault\.go:`+parts[3]+"$", place)
		assert.Equal(t, fmt.Sprintf("kernel Fault: %s: %s%s", parts[2], parts[1]+parts[4], f.more), rest)
	}
	assert.Len(t, tried, kernels.Faults)

	host, err := launchFault(t, jit.Of(kernels.Fault).Checked(), dev, 0, 3, 1, 0, 0).Host() // the device goes on
	require.NoError(t, err)
	for i, v := range host {
		want := int64(i)
		if i == 3 {
			want = 0
		}
		assert.Equal(t, want, v)
	}
}

// checkFaultAll has many threads fail: the first is reported. Devices on which the
// others go on say how many.
func checkFaultAll(t *testing.T, dev *runtime.Device) {
	out := upload32(t, dev, make([]int32, 1024))
	require.NoError(t, jit.Of(kernels.FaultAll).Checked().Launch(dev.DefaultStream(), runtime.Blocks(4, 256), out, 300, int32(0)))
	err := dev.DefaultStream().Sync()
	require.ErrorIs(t, err, runtime.ErrLaunch)
	msg, others := strings.CutSuffix(err.Error(), " (and 723 more)")
	assert.Equal(t, dev.Info().Kind != "cpu", others, msg)
	assert.Regexp(t, `kernels/fault\.go:\d+: kernel FaultAll: block \(1,0,0\), thread \(44,0,0\): integer divide by zero \(dividend 300\)$`, msg)
}

// checkFaultFrom has the last threads of a vector fail.
func checkFaultFrom(t *testing.T, dev *runtime.Device) {
	in := upload32(t, dev, make([]int32, 128))
	require.NoError(t, jit.Of(kernels.FaultFrom).Checked().Launch(dev.DefaultStream(), runtime.Blocks(1, 128), in, in))
	err := dev.DefaultStream().Sync()
	require.ErrorIs(t, err, runtime.ErrLaunch)
	msg, others := strings.CutSuffix(err.Error(), " (and 4 more)")
	assert.Equal(t, dev.Info().Kind != "cpu", others, msg)
	assert.Regexp(t, `kernels/fault\.go:\d+: kernel FaultFrom: block \(0,0,0\), thread \(123,0,0\): index out of range \[5\] with length 5$`, msg)
}

// checkUnchecked has the results that are defined where nothing is checked.
func checkUnchecked(t *testing.T, dev *runtime.Device) {
	if on, _ := strconv.ParseBool(os.Getenv("KILN_CHECK")); on {
		t.Skip("KILN_CHECK has every kernel checked")
	}
	for _, f := range []struct {
		fault, x, y int
		want        int64
	}{{15, 7, 0, 0}, {16, 7, 0, 7}, {17, -5, 0, 0}, {20, 1, -1, 0}, {21, 1, -1, 0}} {
		host, err := launchFault(t, jit.Of(kernels.Fault), dev, f.fault, 2, f.x, f.y, 0).Host()
		require.NoError(t, err)
		assert.Equal(t, f.want, host[2], "fault %d", f.fault)
		assert.EqualValues(t, 3, host[3])
	}
}
