package conformance

import (
	"fmt"
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

// RunLog checks the device log of dev: what kernels print, and how failed
// assertions are reported.
func RunLog(t *testing.T, dev *runtime.Device) {
	t.Run("Log/print", func(t *testing.T) { checkPrint(t, dev) })
	t.Run("Log/float64", func(t *testing.T) { checkPrintDouble(t, dev) })
	t.Run("Log/streams", func(t *testing.T) { checkPrintOnStreams(t, dev) })
	t.Run("Log/assert", func(t *testing.T) { checkAssert(t, dev) })
	t.Run("Log/assert values", func(t *testing.T) { checkAssertValues(t, dev) })
	t.Run("Log/overflow", func(t *testing.T) { checkOverflow(t, dev) })
}

// capture has dev print into the returned builder for the rest of the test.
func capture(t *testing.T, dev *runtime.Device) *strings.Builder {
	var b strings.Builder
	dev.SetOutput(&b)
	t.Cleanup(func() { dev.SetOutput(t.Output()) })
	return &b
}

func upload32[T any](t *testing.T, dev *runtime.Device, s []T) runtime.Slice[T] {
	d, err := runtime.From(dev, s)
	require.NoError(t, err)
	return d
}

// printed runs the kernel Print as plain Go.
func printed(t *testing.T, grid, block dsl.Dim3, x []float32) string {
	var b strings.Builder
	out := make([]int32, 1000)
	require.NoError(t, dsltest.Run(grid, block, func(th dsl.Thread) { kernels.Print(th, out, x, -7, true) }, dsltest.Output(&b)))
	return b.String()
}

// checkPrint compares the output with that of plain Go, of two launches.
func checkPrint(t *testing.T, dev *runtime.Device) {
	x := []float32{0.5, -1.25, 3e10, 1.0 / 3}
	out, in := upload32(t, dev, make([]int32, 1000)), upload32(t, dev, x)
	got := capture(t, dev)
	want := ""
	for _, g := range [][2]dsl.Dim3{{dsl.D1(5), dsl.D1(64)}, {dsl.D3(2, 2, 3), dsl.D3(4, 3, 2)}} {
		grid := runtime.Grid{Blocks: runtime.Dim3(g[0]), Threads: runtime.Dim3(g[1])}
		require.NoError(t, jit.Of(kernels.Print).Launch(dev.DefaultStream(), grid, out, in, int8(-7), true))
		want += printed(t, g[0], g[1], x)
	}
	host, err := out.Host() // it waits
	require.NoError(t, err)
	assert.EqualValues(t, 319, host[319])
	assert.Equal(t, want, got.String())
	require.NoError(t, dev.Sync())
	assert.Equal(t, want, got.String(), "nothing is printed twice")
}

// checkPrintDouble compares likewise, where the device has 64-bit floats.
func checkPrintDouble(t *testing.T, dev *runtime.Device) {
	x := []float32{0.5, -1.25, 3e10, 1.0 / 3}
	var want strings.Builder
	require.NoError(t, dsltest.Run(dsl.D1(1), dsl.D1(4), func(th dsl.Thread) { kernels.PrintDouble(th, x) }, dsltest.Output(&want)))
	got := capture(t, dev)
	err := jit.Of(kernels.PrintDouble).Launch(dev.DefaultStream(), runtime.Blocks(1, 4), upload32(t, dev, x))
	judge(t, dev, err)
	require.NoError(t, dev.Sync())
	assert.Equal(t, want.String(), got.String())
}

// checkPrintOnStreams prints on two streams, each of which waits for itself.
func checkPrintOnStreams(t *testing.T, dev *runtime.Device) {
	x := []float32{1}
	out, in := upload32(t, dev, make([]int32, 1000)), upload32(t, dev, x)
	grid, block := dsl.D1(1), dsl.D1(32)
	want := printed(t, grid, block, x)
	got := capture(t, dev)
	var streams []*runtime.Stream
	for range 2 {
		s, err := dev.NewStream()
		require.NoError(t, err)
		streams = append(streams, s)
		require.NoError(t, jit.Of(kernels.Print).Launch(s, runtime.Blocks(1, 32), out, in, int8(-7), true))
	}
	require.NoError(t, streams[0].Sync())
	assert.Equal(t, want, got.String())
	require.NoError(t, dev.Sync())
	assert.Equal(t, want+want, got.String())
	require.NoError(t, jit.Of(kernels.Print).Launch(streams[1], runtime.Blocks(1, 32), out, in, int8(-7), true))
	require.NoError(t, dev.DefaultStream().Sync(), "the default stream waits for the others")
	assert.Equal(t, want+want+want, got.String())
}

// checkAssert has the first of two wrong elements reported, once.
func checkAssert(t *testing.T, dev *runtime.Device) {
	x := make([]int32, 256)
	in, out := upload32(t, dev, x), upload32(t, dev, make([]int32, len(x)))
	check := func() error { return jit.Of(kernels.Check).Launch(dev.DefaultStream(), runtime.Blocks(4, 64), out, in) }
	got := capture(t, dev)
	require.NoError(t, check())
	require.NoError(t, dev.Sync())
	assert.Equal(t, 256, strings.Count(got.String(), " passed\n"))

	x[100], x[130] = -1, -2
	require.NoError(t, in.CopyFrom(x))
	require.NoError(t, check())
	err := dev.Sync()
	require.ErrorIs(t, err, runtime.ErrLaunch)
	assert.ErrorContains(t, err, "kernel Check failed: ")
	assert.ErrorContains(t, err, "log.go:38: kernel Check: block (1,0,0), thread (36,0,0): assertion failed: elements are not negative")
	assert.NotContains(t, err.Error(), "\n")
	require.NoError(t, dev.Sync(), "it is reported once")

	x[100], x[130] = 1, 1
	require.NoError(t, in.CopyFrom(x), "the device goes on")
	require.NoError(t, dev.DefaultStream().Discard(out.Buffer()), "what follows sets all of it")
	require.NoError(t, check())
	host, err := out.Host()
	require.NoError(t, err)
	assert.EqualValues(t, 1, host[100])
}

// checkOverflow prints more than the log of a new stream has room for.
func checkOverflow(t *testing.T, dev *runtime.Device) {
	require.Error(t, dev.SetOutputSize(8))
	require.NoError(t, dev.SetOutputSize(8*3*7)) // three records of two values
	defer func() { require.NoError(t, dev.SetOutputSize(1<<20)) }()
	s, err := dev.NewStream()
	require.NoError(t, err)
	in, out := upload32(t, dev, make([]int32, 64)), upload32(t, dev, make([]int32, 64))
	got := capture(t, dev)
	require.NoError(t, dev.Sync())
	for range 2 {
		require.NoError(t, jit.Of(kernels.Check).Launch(s, runtime.Blocks(1, 64), out, in))
		require.NoError(t, s.Sync())
		lines := strings.SplitAfter(strings.TrimSuffix(got.String(), "\n"), "\n")
		room := 3 * 7 / 6 // a record of one value takes six words
		require.Len(t, lines, room+1, got.String())
		assert.Contains(t, lines[room], fmt.Sprintf("%d entries of the device log found no room and are lost", 64-room))
		got.Reset()
	}
}

// checkAssertValues has an assertion say its values: of one thread and of all.
func checkAssertValues(t *testing.T, dev *runtime.Device) {
	x := make([]uint8, 128)
	x[77], x[100] = 201, 202
	in, err := runtime.From(dev, x)
	require.NoError(t, err)
	t.Cleanup(func() { _ = in.Free() })
	out := upload32(t, dev, make([]int32, len(x)))
	check := func(limit int) error {
		require.NoError(t, jit.Of(kernels.CheckRange).Launch(dev.DefaultStream(), runtime.Blocks(2, 64), out, in, limit))
		return dev.Sync()
	}
	require.NoError(t, check(203))
	assert.ErrorContains(t, check(200), "log.go:50: kernel CheckRange: block (1,0,0), thread (13,0,0): assertion failed: element 77 is 201")
	assert.ErrorContains(t, check(-5), "log.go:49: kernel CheckRange: block (0,0,0), thread (0,0,0): assertion failed: limit -5%")
}
