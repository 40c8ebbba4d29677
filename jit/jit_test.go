package jit_test

import (
	"fmt"
	"net/http"
	"os"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/runtime"
)

// The tests of this process share a fresh cache.
func TestMain(m *testing.M) {
	os.Unsetenv("KILN_CHECK") // tests say themselves what is checked
	os.Unsetenv("KILN_JIT")
	os.Exit(tooltest.FreshCache(m))
}

func open(t testing.TB) *runtime.Device {
	t.Helper()
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { dev.Close() })
	return dev
}

func upload[T any](t testing.TB, dev *runtime.Device, s ...T) runtime.Slice[T] {
	t.Helper()
	x, err := runtime.From(dev, s)
	require.NoError(t, err)
	return x
}

func TestLaunch(t *testing.T) {
	dev := open(t)
	x := upload(t, dev, float32(1), 2, 3)
	require.NoError(t, jit.Of(testkernels.Scale[float32]).Launch(dev.DefaultStream(), runtime.Cover(3, 64), x, float32(2)))
	got, err := x.Host()
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 4, 6}, got)

	// A part of a slice, and the same kernel for another type.
	y := upload(t, dev, int32(1), 2, 3, 4)
	require.NoError(t, jit.Of(testkernels.Scale[int32]).Launch(dev.DefaultStream(), runtime.Cover(2, 64), y.Slice(1, 3), int32(-5)))
	ys, err := y.Host()
	require.NoError(t, err)
	assert.Equal(t, []int32{1, -10, -15, 4}, ys)
}

// A handle must not keep the devices that it ran on once they are closed.
func TestReopenedDevice(t *testing.T) {
	kernel := jit.Of(testkernels.Scale[float32])
	collected := make(chan bool, 1)
	for i := range 2 {
		dev, err := runtime.Open("cpu")
		require.NoError(t, err)
		if i == 0 {
			goruntime.AddCleanup(dev, func(c chan bool) { c <- true }, collected)
		}
		x := upload(t, dev, float32(1), 2)
		require.NoError(t, kernel.Launch(dev.DefaultStream(), runtime.Cover(2, 64), x, float32(3)))
		got, err := x.Host()
		require.NoError(t, err)
		assert.Equal(t, []float32{3, 6}, got)
		require.NoError(t, dev.Close())
		assert.True(t, dev.Closed())
	}
	assert.Eventually(t, func() bool {
		goruntime.GC()
		return len(collected) == 1
	}, time.Minute, time.Millisecond)
}

func TestArgumentBlock(t *testing.T) {
	dev := open(t)
	out := upload(t, dev, 0.0)
	require.NoError(t, jit.Of(testkernels.Mixed).Launch(dev.DefaultStream(), runtime.Blocks(1, 1),
		out, true, int8(-3), uint16(40000), float32(0.5), 1<<40, dsl.F16(0x3c00)))
	got, err := out.Host()
	require.NoError(t, err)
	assert.Equal(t, []float64{-3 + 40000 + 0.5 + 1<<40 + 1}, got)
}

func TestLaunchErrors(t *testing.T) {
	dev := open(t)
	s := dev.DefaultStream()
	x := upload(t, dev, float32(1))
	freed := upload(t, dev, float32(1))
	freed.Free()
	scale := jit.Of(testkernels.Scale[float32])
	one := runtime.Blocks(1, 32)
	cases := []struct {
		name string
		err  error
		want string
	}{
		{"count", scale.Launch(s, one, x), "launch with 1 arguments, the kernel has 2: (x runtime.Slice[float32], a float32)"},
		{"scalar type", scale.Launch(s, one, x, 2.0), "argument 2 (a) is float64, want float32"},
		{"slice type", scale.Launch(s, one, upload(t, dev, 1.0), float32(2)), "argument 1 (x) is runtime.Slice[float64], want runtime.Slice[float32]"},
		{"host slice", scale.Launch(s, one, []float32{1}, float32(2)), "argument 1 (x) is []float32, want runtime.Slice[float32]"},
		{"nil", scale.Launch(s, one, nil, float32(2)), "argument 1 (x) is nil"},
		{"nil at first", jit.Of(testkernels.Scale[int32]).Launch(s, one, upload[int32](t, dev, 1), nil), "argument 2 (a) is nil"},
		{"freed", scale.Launch(s, one, freed, float32(2)), "buffer was freed"},
		{"stream", scale.Launch(nil, one, x, float32(2)), "nil stream"},
		{"block", scale.Launch(s, runtime.Blocks(1, 5000), x, float32(2)), "block of 5000 threads"},
		{"no threads", scale.Launch(s, runtime.Blocks(1, 0), x, float32(2)), "block of 0 threads"},
		{"warp", jit.Of(testkernels.Sums).Launch(s, runtime.Blocks(1, 33), upload[int32](t, dev, 1)), fmt.Sprintf("multiple of %d threads here; a multiple of 64 runs on every device", dev.WarpSize())},
		{"rows", jit.Of(testkernels.Rows).Launch(s, runtime.Grid{Blocks: runtime.Dim3{X: 1}, Threads: runtime.Dim3{X: 4, Y: dev.WarpSize()}}, upload[int32](t, dev, 1)), "block of 4 threads along x and"},
		{"goroutine", jit.Of(testkernels.Bad).Launch(s, one, upload[int32](t, dev, 1)), "goroutine"},
		{"not a kernel", jit.Of(testkernels.NotMarked).Launch(s, one, upload[int32](t, dev, 1)), "//kiln:kernel"},
		{"inference", jit.Of(testkernels.Untyped[float64]).Launch(s, one, upload[int32](t, dev, 1)), "infer"},
		{"not a function", jit.Of(3).Launch(s, one), "int is not a kernel function"},
		{"literal", jit.Of(func(t dsl.Thread) {}).Launch(s, one), "not a package-level function"},
		{"no source", jit.Of(http.CanonicalHeaderKey).Launch(s, one), "has no kernel source"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { assert.ErrorContains(t, c.err, c.want) })
	}
	require.NoError(t, s.Sync(), "nothing of it reached the device")
}

// TestRowsOfWholeWarps launches a kernel that needs rows of whole warps with such blocks.
func TestRowsOfWholeWarps(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	lanes := dev.WarpSize()
	x := upload(t, dev, slices.Repeat([]int32{1}, lanes)...)
	block := runtime.Grid{Blocks: runtime.Dim3{X: 1}, Threads: runtime.Dim3{X: lanes, Y: 2}}
	require.NoError(t, jit.Of(testkernels.Rows).Launch(dev.DefaultStream(), block, x))
	got, err := x.Host()
	require.NoError(t, err)
	require.Equal(t, slices.Repeat([]int32{int32(lanes)}, lanes), got)
}

func TestEmptyGrid(t *testing.T) {
	dev := open(t)
	x := upload[float32](t, dev)
	require.NoError(t, jit.Of(testkernels.Scale[float32]).Launch(dev.DefaultStream(), runtime.Cover(0, 64), x, float32(2)))
	require.NoError(t, dev.Sync())
}

// A fault of a running kernel comes with the next call that waits, and names
// kernel, position and thread.
func TestFaultAtSync(t *testing.T) {
	dev := open(t)
	out := upload(t, dev, int32(0), 0, 0)
	require.NoError(t, jit.Of(testkernels.Overrun).Launch(dev.DefaultStream(), runtime.Blocks(1, 4), out))
	err := dev.Sync()
	require.Error(t, err)
	assert.ErrorContains(t, err, "Overrun")
	assert.ErrorContains(t, err, "kernels.go:")
	assert.ErrorContains(t, err, "index out of range [3] with length 3")
}

// A checked handle is another kernel to the process, and one to its callers.
func TestCheckedHandle(t *testing.T) {
	dev := open(t)
	k := jit.Of(testkernels.Divide)
	checked := k.Checked()
	assert.NotSame(t, k, checked)
	assert.Same(t, checked, k.Checked())
	assert.Same(t, checked, checked.Checked())
	assert.Equal(t, k.Name(), checked.Name())

	var events []jit.Event
	stop := jit.OnResolve(func(e jit.Event) { events = append(events, e) })
	defer stop()
	for _, h := range []*jit.Kernel{k, checked} {
		x := upload(t, dev, int32(3), 2, 1, 0)
		require.NoError(t, h.Launch(dev.DefaultStream(), runtime.Blocks(2, 2), x, int32(-6)))
		got, err := x.Host()
		if h == k {
			require.NoError(t, err)
			assert.Equal(t, []int32{-2, -3, -6, 0}, got)
			continue
		}
		require.ErrorIs(t, err, runtime.ErrLaunch)
		assert.ErrorContains(t, err, "kernel Divide: block (1,0,0), thread (1,0,0): integer divide by zero (dividend -6)")
	}
	require.Len(t, events, 2)
	assert.False(t, events[0].Checked)
	assert.True(t, events[1].Checked)

	bad := jit.Of(3)
	assert.Same(t, bad, bad.Checked())
	assert.Error(t, bad.Checked().Launch(dev.DefaultStream(), runtime.Blocks(1, 1)))
}

func TestSameHandle(t *testing.T) {
	assert.Same(t, jit.Of(testkernels.Sums), jit.Of(testkernels.Sums))
	assert.NotSame(t, jit.Of(testkernels.Scale[float32]), jit.Of(testkernels.Scale[float64]))
	assert.Equal(t, "github.com/gokiln/kiln/jit/testkernels.Scale", jit.Of(testkernels.Scale[float32]).Name())
}

// However many goroutines ask, a kernel is resolved once a device.
func TestCompiledOnce(t *testing.T) {
	var mu sync.Mutex
	n := 0
	stop := jit.OnResolve(func(e jit.Event) {
		mu.Lock()
		defer mu.Unlock()
		n++
		assert.NotZero(t, e.Total)
		assert.Equal(t, "github.com/gokiln/kiln/jit/testkernels.Scale[float64]", e.Kernel)
	})
	defer stop()
	dev := open(t)
	k := jit.Of(testkernels.Scale[float64])
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			x := upload(t, dev, 1.0)
			assert.NoError(t, k.Launch(dev.DefaultStream(), runtime.Blocks(1, 32), x, 3.0))
			got, err := x.Host()
			assert.NoError(t, err)
			assert.Equal(t, []float64{3}, got)
		})
	}
	wg.Wait()
	assert.Equal(t, 1, n)
}

func TestLaunchDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	dev := open(t)
	x := upload(t, dev, make([]float32, 64)...)
	k := jit.Of(testkernels.Scale[float32])
	s := dev.DefaultStream()
	require.NoError(t, k.Prepare(dev))
	a := float32(1.5)
	allocs := testing.AllocsPerRun(200, func() {
		if err := k.Launch(s, runtime.Blocks(1, 64), x, a); err != nil {
			t.Fatal(err)
		}
	})
	require.NoError(t, s.Sync())
	assert.Zero(t, allocs)
}

// Compile-time values and structs are no reason to allocate either.
func TestConstantsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	dev := open(t)
	x := upload(t, dev, make([]float32, 64)...)
	k := jit.Of(testkernels.Filter[float32])
	s := dev.DefaultStream()
	n, cfg := dsl.ConstInt(2), testkernels.Config[float32]{Tile: 8}
	require.NoError(t, k.Prepare(dev, n, cfg))
	allocs := testing.AllocsPerRun(200, func() {
		cfg.Scale++
		if err := k.Launch(s, runtime.Blocks(1, 64), x, x, n, cfg); err != nil {
			t.Fatal(err)
		}
	})
	require.NoError(t, s.Sync())
	assert.Zero(t, allocs)
}

func BenchmarkLaunch(b *testing.B) {
	dev := open(b)
	x := upload(b, dev, make([]float32, 64)...)
	k := jit.Of(testkernels.Scale[float32])
	s := dev.DefaultStream()
	require.NoError(b, k.Prepare(dev))
	b.ReportAllocs()
	for b.Loop() {
		if err := k.Launch(s, runtime.Blocks(1, 64), x, float32(1)); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, s.Sync())
}

// An observer may launch the kernel that was resolved and others, also from a goroutine
// that it waits for, and may stop itself and the others.
func TestObserverComesBack(t *testing.T) {
	dev := open(t)
	done := make(chan struct{})
	var kernels []string
	go func() {
		defer close(done)
		x, y := upload(t, dev, float32(1), 2), upload(t, dev, float64(1), 2)
		var stop, other func()
		stop = jit.OnResolve(func(e jit.Event) {
			if kernels = append(kernels, e.Kernel); len(kernels) > 1 {
				stop()
				other()
				return
			}
			assert.NoError(t, jit.Of(testkernels.Scale[float32]).Launch(dev.DefaultStream(), runtime.Blocks(1, 2), x, float32(3)))
			var wg sync.WaitGroup
			wg.Go(func() {
				assert.NoError(t, jit.Of(testkernels.Scale[float64]).Launch(dev.DefaultStream(), runtime.Blocks(1, 2), y, float64(3)))
			})
			wg.Wait()
		})
		calls := 0
		other = jit.OnResolve(func(jit.Event) { calls++ })
		assert.NoError(t, jit.Of(testkernels.Scale[float32]).Launch(dev.DefaultStream(), runtime.Blocks(1, 2), x, float32(3)))
		got, err := x.Host()
		assert.NoError(t, err)
		assert.Equal(t, []float32{9, 18}, got)
		assert.NoError(t, jit.Of(testkernels.Scale[int32]).Prepare(dev))
		assert.Equal(t, 1, calls, "it was stopped at the second event")
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the launch of an observer waits for ever")
	}
	assert.Equal(t, []string{testPath + ".Scale[float32]", testPath + ".Scale[float64]"}, kernels)
}
