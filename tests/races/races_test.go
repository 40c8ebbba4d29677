package races

import (
	"fmt"
	"os"
	"reflect"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/races/kernels"
)

// pair is a kernel, and the same with a mistake.
type pair struct {
	right, wrong any // nil if there is none
	grid         runtime.Grid
	args         func(t *testing.T, dev *runtime.Device) []any
	place        string // that the message names
	missing      string // and what it recommends
}

var pairs = []pair{
	{kernels.Transpose, kernels.TransposeNoSync, runtime.Grid{Blocks: runtime.Dim3{X: 2, Y: 2}, Threads: runtime.Dim3{X: kernels.Tile, Y: kernels.Tile}},
		matrix, "element [1][0] of the shared memory declared at", "put t.Sync() there"},
	{kernels.Reduce, kernels.ReduceNoSync, runtime.Blocks(3, 128), numbers, "of the shared memory declared at", "put t.Sync() there"},
	{kernels.Histogram, kernels.HistogramNoAtomic, runtime.Blocks(3, 128), numbers, "of the shared memory declared at", "put t.Sync() there"},
	{kernels.Smooth, kernels.SmoothOneBuffer, runtime.Blocks(2, 96), times, "of the shared memory declared at", "put t.Sync() there"},
	{kernels.Mirror, kernels.MirrorNoSync, runtime.Blocks(2, 96), numbers, "element [31] of the shared memory declared at", "(or t.SyncWarp(), if only lanes of one warp share it)"},
	{kernels.Staged, kernels.StagedEarly, runtime.Blocks(2, 64), numbers, "while a copy to it is under way that thread (63,0,0) has begun at", "put t.Sync() between"},
	{kernels.Ring, kernels.RingEarly, runtime.Blocks(2, 96), numbers, "of the shared memory declared at", "put t.Sync() there"},
	{kernels.WarpSums, kernels.WarpSumsAll, runtime.Blocks(2, 96), numbers, "out[0]: this thread writes 240 here, thread (0,0,0) wrote 240 (the same value, still a race)", "(or t.SyncWarp(), if only lanes of one warp share it)"},
	{kernels.Scans, nil, runtime.Blocks(2, 96), numbers, "", ""},
	{kernels.Total, kernels.TotalNoFence, runtime.Blocks(4, 64), counters, "parts[0]: this thread reads 480 here, block (0,0,0), thread (0,0,0) wrote 480 at", "nothing orders the blocks of a launch"},
	{kernels.Locked, kernels.LockedNoFence, runtime.Blocks(2, 40), locks, "out[0]", "put dsl.Fence() before it"},
	{kernels.Chain, kernels.ChainNoFence, runtime.Blocks(5, 64), locks, "out[0]: this thread reads 480 here, block (0,0,0), thread (0,0,0) wrote 480", "put dsl.Fence() before it"},
	{kernels.Compact, kernels.CompactByLoad, runtime.Blocks(2, 64), locks, "out[0]: this thread writes 2 here, thread (1,0,0) wrote 1 at", "put t.Sync() there"},
	{kernels.Shift, kernels.ShiftInPlace, runtime.Blocks(2, 64), numbers, "out[32]: this thread writes 0 here, thread (31,0,0) read 0 at", "put t.Sync() there"},
	{kernels.Neighbours, kernels.NeighboursOverlap, runtime.Blocks(2, 64), neighbours, "pairs[1] field 1: this thread writes 7 here, thread (1,0,0) wrote 1 at", "put t.Sync() there"},
	{kernels.Halo, kernels.HaloForgotten, runtime.Blocks(2, 64), numbers, "this thread reads element [65] of the shared memory declared at", "which no thread of the block has written"},
}

func upload[T any](t *testing.T, dev *runtime.Device, n int, value func(i int) T) any {
	s := make([]T, n)
	for i := range s {
		s[i] = value(i)
	}
	d, err := runtime.From(dev, s)
	require.NoError(t, err)
	t.Cleanup(func() { d.Free() })
	return d
}

func zero(int) int32 { return 0 }

func matrix(t *testing.T, dev *runtime.Device) []any {
	n := 2 * kernels.Tile
	return []any{upload(t, dev, n*n, func(int) float32 { return 0 }), upload(t, dev, n*n, func(i int) float32 { return float32(i) }), n}
}

func numbers(t *testing.T, dev *runtime.Device) []any {
	return []any{upload(t, dev, 400, zero), upload(t, dev, 400, func(i int) int32 { return int32(i % 16) })}
}

func times(t *testing.T, dev *runtime.Device) []any { return append(numbers(t, dev), 3) }

func counters(t *testing.T, dev *runtime.Device) []any {
	return append(numbers(t, dev), upload(t, dev, 16, zero), upload(t, dev, 1, zero))
}

// locks are numbers and some words of zero.
func locks(t *testing.T, dev *runtime.Device) []any {
	return append(numbers(t, dev), upload(t, dev, 16, zero))
}

func neighbours(t *testing.T, dev *runtime.Device) []any {
	return []any{upload(t, dev, 200, func(int) uint8 { return 0 }), upload(t, dev, 200, func(int) dsl.F16 { return 0 }), upload(t, dev, 200, func(int) kernels.Pair { return kernels.Pair{} })}
}

// launch runs a kernel as a checked build and returns what it reports.
func launch(t *testing.T, kernel any, p pair) error {
	dev, err := runtime.Open("cpu:interp")
	require.NoError(t, err)
	defer dev.Close()
	require.NoError(t, jit.Of(kernel).Checked().Launch(dev.DefaultStream(), p.grid, p.args(t, dev)...))
	return dev.Sync()
}

func nameOf(kernel any) string {
	name := goruntime.FuncForPC(reflect.ValueOf(kernel).Pointer()).Name()
	return name[strings.LastIndex(name, ".")+1:]
}

func TestPairs(t *testing.T) {
	for _, p := range pairs {
		t.Run(nameOf(p.right), func(t *testing.T) { require.NoError(t, launch(t, p.right, p)) })
		if p.wrong == nil {
			continue
		}
		name := nameOf(p.wrong)
		t.Run(name, func(t *testing.T) {
			first := launch(t, p.wrong, p)
			require.Error(t, first)
			marks := marked(t, name)
			require.Contains(t, first.Error(), fmt.Sprintf("wrong.go:%d: kernel %s: block ", marks["bad"], name))
			require.ErrorContains(t, first, p.place)
			require.ErrorContains(t, first, p.missing)
			if line := marks["other"]; line > 0 {
				require.ErrorContains(t, first, ": data race on ")
				require.Contains(t, first.Error(), fmt.Sprintf("wrong.go:%d, and n", line))
			}
			require.Equal(t, first.Error(), launch(t, p.wrong, p).Error(), "the report is the same each time")
			t.Log(first)
		})
	}
}

// marked returns the lines of a kernel that end in marks.
func marked(t *testing.T, kernel string) map[string]int {
	text, err := os.ReadFile("kernels/wrong.go")
	require.NoError(t, err)
	marks := map[string]int{}
	inside := false
	for i, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "func "); ok {
			inside = strings.HasPrefix(rest, kernel+"(")
		}
		for _, mark := range strings.Split(line, "//")[1:] {
			if mark = strings.TrimSpace(mark); inside && (mark == "bad" || mark == "other") {
				marks[mark] = i + 1
			}
		}
	}
	require.NotZero(t, marks["bad"], kernel)
	return marks
}

// TestUnchecked runs the kernels with a mistake in builds that do not look for any.
func TestUnchecked(t *testing.T) {
	if on, _ := strconv.ParseBool(os.Getenv("KILN_CHECK")); on {
		t.Skip("KILN_CHECK has every kernel checked")
	}
	dev, err := runtime.Open("cpu:interp")
	require.NoError(t, err)
	defer dev.Close()
	for _, p := range pairs {
		if p.wrong != nil {
			require.NoError(t, jit.Of(p.wrong).Launch(dev.DefaultStream(), p.grid, p.args(t, dev)...))
			require.NoError(t, dev.Sync(), nameOf(p.wrong))
		}
	}
}

// TestRing runs pipelines of so many steps as slots, of fewer and of more, in plain Go and on the
// CPU.
func TestRing(t *testing.T) {
	for _, name := range []string{"cpu:interp", "cpu"} {
		t.Run(name, func(t *testing.T) { runRing(t, name) })
	}
}

func runRing(t *testing.T, device string) {
	dev, err := runtime.Open(device)
	require.NoError(t, err)
	defer dev.Close()
	const n = 48
	for _, steps := range []int{0, 1, 2, 3, 4, 7, 40} {
		in, want, got := make([]int32, n*steps), make([]int32, n), make([]int32, n)
		for i := range in {
			in[i] = int32(i * i)
			want[n-1-i%n] += in[i]
		}
		require.NoError(t, dsltest.Run(dsl.D1(1), dsl.D1(2*n), func(t dsl.Thread) { kernels.Ring(t, got, in) }, dsltest.WarpSize(16)))
		require.Equal(t, want, got)
		for _, kernel := range []*jit.Kernel{jit.Of(kernels.Ring), jit.Of(kernels.Ring).Checked()} {
			x := upload(t, dev, len(in), func(i int) int32 { return in[i] })
			out := upload(t, dev, n, zero).(runtime.Slice[int32])
			require.NoError(t, kernel.Launch(dev.DefaultStream(), runtime.Blocks(1, 2*n), out, x))
			clear(got)
			require.NoError(t, out.CopyTo(got))
			require.Equal(t, want, got, "%d steps", steps)
		}
	}
}

// TestRingHangs launches half of the threads that the barriers count.
func TestRingHangs(t *testing.T) {
	dev, err := runtime.Open("cpu:interp")
	require.NoError(t, err)
	defer dev.Close()
	args := numbers(t, dev)
	require.NoError(t, jit.Of(kernels.Ring).Launch(dev.DefaultStream(), runtime.Blocks(1, 48), args...))
	require.ErrorContains(t, dev.Sync(), "waits for a phase of a dsl.MBarrier that nobody completes")
}
