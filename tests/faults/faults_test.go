package faults

import (
	"embed"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tests/engine"
	"github.com/gokiln/kiln/tests/faults/kernels"
	"github.com/gokiln/kiln/tests/sim"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source) // of the function of Map

func TestMain(m *testing.M) { sim.Main(m) }

// each runs a test on the engines of the CPU, or on the device that KILN_DEVICE names.
func each(t *testing.T, test func(t *testing.T, dev *runtime.Device)) {
	if name := os.Getenv("KILN_DEVICE"); name != "" {
		dev, err := runtime.Open(name)
		require.NoError(t, err)
		t.Cleanup(func() { dev.Close() })
		t.Run(name, func(t *testing.T) { test(t, dev) })
		return
	}
	engine.Each(t, test)
}

// eachGPU is each on the simulated GPUs, too.
func eachGPU(t *testing.T, test func(t *testing.T, dev *runtime.Device)) {
	each(t, test)
	if os.Getenv("KILN_DEVICE") != "" {
		return
	}
	t.Run("rocm", func(t *testing.T) {
		sim.QuickROCm(t)
		test(t, sim.OpenROCm(t, "gfx942"))
	})
	t.Run("metal", func(t *testing.T) {
		sim.QuickMetal(t)
		test(t, sim.OpenMetal(t))
	})
}

// TestDevice tests tensors and the raw API on every device.
func TestDevice(t *testing.T) {
	eachGPU(t, func(t *testing.T, dev *runtime.Device) {
		for name, test := range map[string]func(*testing.T, *runtime.Device){
			"Values": values, "Variables": variables, "InPlace": inPlace, "Gradients": gradients,
			"Raw": raw, "Streams": streams, "Reuse": reuse, "Graph": graph, "Replays": replays, "Many": many, "Lost": lost, "Host": host,
		} {
			t.Run(name, func(t *testing.T) {
				test(t, dev)
				require.NoError(t, ignore(dev.Sync(), runtime.ErrLaunch))
				require.NoError(t, dev.Sync(), "it is reported once")
			})
		}
	})
}

// ignore is nil for an error of a kind.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// line is the place that it is called at.
func line() string {
	_, _, n, _ := goruntime.Caller(1)
	return fmt.Sprintf("faults_test.go:%d", n)
}

// failing returns rows of a table that there are none of, and where they were asked for.
func failing(t *testing.T, dev *runtime.Device) (x *tensor.Tensor, pos string) {
	d := tensor.On(dev)
	table := tensor.Arange(d, 0, float32(12)).Reshape(4, 3)
	x, pos = table.IndexSelect(tensor.From(d, []int32{1, 9}, 2), 0), line()
	require.NotNil(t, x)
	return x, pos
}

// wrong checks the error of what depends on a failure.
func wrong(t *testing.T, err error, pos string) {
	t.Helper()
	require.ErrorIs(t, err, runtime.ErrLaunch)
	require.ErrorIs(t, err, tensor.ErrIndex)
	e, ok := errors.AsType[*tensor.Error](err)
	require.True(t, ok)
	require.Equal(t, pos, e.Pos, err)
	require.Contains(t, err.Error(), "index 9 at position 1 is out of range")
}

// soon checks the error of an operation on what depends on a failure, which may be known
// already. It reports whether it was not.
func soon(t *testing.T, err error, pos string) bool {
	t.Helper()
	if err != nil {
		wrong(t, err, pos)
	}
	return err == nil
}

func read(x *tensor.Tensor) error {
	_, err := tensor.ToSlice[float32](x)
	return err
}

// Whatever was computed from a failed operation reports it each time, in each way; all else is
// right.
func values(t *testing.T, dev *runtime.Device) {
	d := tensor.On(dev)
	before := tensor.Arange(d, 0, float32(6)).Reshape(2, 3)
	bad, pos := failing(t, dev)
	derived := bad.Add(before).T().Contiguous().Sum(0)
	view := bad.Narrow(0, 0, 1)
	mapped := tensor.Map2(func(x, y float32) float32 { return x*y + 1 }, bad, before)
	after := before.AddScalar(1)
	for range 3 {
		got, err := tensor.ToSlice[float32](after)
		require.NoError(t, err)
		require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, got)
		for _, x := range []*tensor.Tensor{bad, derived, view, mapped} {
			wrong(t, read(x), pos)
			wrong(t, x.Err(), pos)
			require.Contains(t, fmt.Sprint(x), "out of range")
			_, err := x.WriteTo(nil)
			wrong(t, err, pos)
		}
	}
	wrong(t, read(bad.Add(before)), pos)
	other, err := tensor.Open("cpu:interp8")
	require.NoError(t, err)
	defer other.Close()
	wrong(t, bad.To(other).Err(), pos)
	require.NoError(t, read(before.To(other)))
	require.NoError(t, read(before))
}

// A variable has the error of what it was set to, until it is set again.
func variables(t *testing.T, dev *runtime.Device) {
	d := tensor.On(dev)
	good := tensor.Arange(d, 0, float32(6)).Reshape(2, 3)
	v := tensor.NewVar(good)
	bad, pos := failing(t, dev)
	if soon(t, v.Set(bad), pos) {
		sum := v.Tensor().Sum()
		wrong(t, read(v.Tensor()), pos)
		defer func() { wrong(t, read(sum), pos) }()
	} else {
		require.NoError(t, read(v.Tensor()), "it keeps its numbers")
	}
	wrong(t, read(bad), pos)
	wrong(t, v.Set(bad), pos)
	require.NoError(t, v.Set(good.MulScalar(2)))
	got, err := tensor.ToSlice[float32](v.Tensor())
	require.NoError(t, err)
	require.Equal(t, []float32{0, 2, 4, 6, 8, 10}, got)

	late, pos := failing(t, dev)
	soon(t, v.Set(late), pos)
	require.NoError(t, v.Set(good))
	require.NoError(t, read(v.Tensor()))
	wrong(t, read(tensor.NewVar(late).Tensor()), pos)
}

func inPlace(t *testing.T, dev *runtime.Device) {
	d := tensor.On(dev)
	x := tensor.Arange(d, 0, float32(6)).Reshape(2, 3)
	view := x.Narrow(0, 1, 1)
	bad, pos := failing(t, dev)
	if !soon(t, view.Assign(bad.Narrow(0, 0, 1)), pos) {
		require.NoError(t, read(x))
		require.NoError(t, x.IndexAddSet(tensor.From(d, []int32{0, 9}, 2), x.OnesLike(), 0))
		pos = fmt.Sprintf("faults_test.go:%d", lineBefore(line()))
	}
	wrong(t, read(x), pos)
	wrong(t, view.Assign(x.Narrow(0, 0, 1).ZerosLike()), pos) // the other part is wrong still
	wrong(t, x.ScatterAddSet(tensor.From(d, []int32{0, 0, 0}, 1, 3), x.Narrow(0, 0, 1).ZerosLike(), 0), pos)
	require.NoError(t, x.ZeroSet())
	require.NoError(t, read(x))
	require.NoError(t, read(view))
	require.NoError(t, x.IndexAddSet(tensor.From(d, []int32{0, 9}, 2), x.OnesLike(), 0))
	pos = fmt.Sprintf("faults_test.go:%d", lineBefore(line()))
	wrong(t, read(view), pos)
	require.NoError(t, x.Assign(tensor.Zeros(d, tensor.F32, 2, 3).Add(tensor.Arange(d, 0, float32(3)))))
	require.NoError(t, read(x))
}

func lineBefore(pos string) (n int) {
	_, _ = fmt.Sscanf(pos, "faults_test.go:%d", &n)
	return n - 1
}

// Gradients of a result that has failed have its error, also those that do not need it.
func gradients(t *testing.T, dev *runtime.Device) {
	d := tensor.On(dev)
	v := tensor.NewVar(tensor.Arange(d, 0, float32(6)).Reshape(2, 3))
	for range 2 {
		bad, pos := failing(t, dev)
		loss := bad.Add(v.Tensor()).Sum()
		check := func(g *tensor.Gradients, err error) {
			if err == nil {
				err = read(g.Of(v.Tensor()))
			}
			wrong(t, err, pos)
		}
		seed := v.Tensor().Sum().OnesLike()
		check(loss.Backward())
		check(loss.BackwardWith(seed))
		if err := read(loss); err == nil {
			t.Fatal("the result is wrong")
		}
		_, err := loss.Backward()
		wrong(t, err, pos)
		require.NoError(t, read(seed))
	}
	loss := v.Tensor().Sum()
	g, err := loss.BackwardWith(loss.OnesLike())
	require.NoError(t, err)
	require.NoError(t, read(g.Of(v.Tensor())))

	part := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Sqr() }, v.Tensor())
	bad, pos := failing(t, dev)
	g, err = part.Add(bad).Sum().Backward()
	if err == nil {
		err = read(g.Of(v.Tensor()))
	}
	wrong(t, err, pos)
}

// upload returns elements on a device.
func upload[T any](t *testing.T, dev *runtime.Device, list ...T) runtime.Slice[T] {
	s, err := runtime.From(dev, list)
	require.NoError(t, err)
	return s
}

// pick launches a kernel that fails if an index is not below 4, and returns where.
func pick(t *testing.T, s *runtime.Stream, out, x runtime.Slice[float32], ids runtime.Slice[int32]) string {
	err := jit.Of(kernels.Pick).Launch(s, runtime.Blocks(1, 64), out, x, ids)
	pos := fmt.Sprintf("faults_test.go:%d", lineBefore(line()))
	require.NoError(t, err)
	return pos
}

func twice(t *testing.T, s *runtime.Stream, out, x runtime.Slice[float32]) {
	require.NoError(t, jit.Of(kernels.Twice).Launch(s, runtime.Blocks(1, 64), out, x))
}

func reads(t *testing.T, s runtime.Slice[float32], want ...float32) {
	t.Helper()
	got, err := s.Host()
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func fails(t *testing.T, s runtime.Slice[float32], pos string) {
	t.Helper()
	for range 2 {
		_, err := s.Host()
		require.ErrorIs(t, err, runtime.ErrLaunch)
		require.ErrorContains(t, err, "is out of range")
		require.ErrorContains(t, err, "(launched at "+pos+")")
		require.ErrorIs(t, s.Buffer().Err(), runtime.ErrLaunch)
	}
}

// The raw API: work behind a failure runs, and buffers know what they depend on.
func raw(t *testing.T, dev *runtime.Device) {
	x, out := upload[float32](t, dev, 1, 2, 3, 4), upload[float32](t, dev, 0, 0)
	next, good := upload[float32](t, dev, 0, 0), upload[float32](t, dev, 0, 0, 0, 0)
	st := dev.DefaultStream()
	pos := pick(t, st, out, x, upload[int32](t, dev, 3, 7))
	twice(t, st, next, out)
	twice(t, st, good, x)
	copied := upload[float32](t, dev, 0, 0)
	require.NoError(t, runtime.Copy(copied, next))
	reads(t, good, 2, 4, 6, 8)
	fails(t, out, pos)
	fails(t, next, pos)
	fails(t, copied, pos)
	reads(t, x, 1, 2, 3, 4)
	require.ErrorIs(t, st.Sync(), runtime.ErrLaunch, "reading leaves it to Sync")
	require.NoError(t, st.Sync(), "once")
	fails(t, out, pos)

	half := out.Slice(0, 1)
	require.NoError(t, half.CopyFrom([]float32{5}))
	fails(t, half, pos)
	require.NoError(t, out.CopyFrom([]float32{5, 6}))
	reads(t, half, 5)
	require.NoError(t, next.Zero())
	reads(t, next, 0, 0)
	require.NoError(t, runtime.Copy(copied, next))
	reads(t, copied, 0, 0)
	pinned, err := runtime.AllocPinned[float32](dev, 2)
	require.NoError(t, err)
	pos = pick(t, st, out, x, upload[int32](t, dev, 3, 7))
	require.NoError(t, out.CopyToPinned(st, pinned))
	require.Error(t, st.Sync())
	require.ErrorContains(t, pinned.Err(), pos)
	require.NoError(t, st.Discard(out.Buffer()))
	pick(t, st, out, x, upload[int32](t, dev, 3, 2))
	reads(t, out, 4, 3)
	require.NoError(t, pinned.Free())
}

// Streams do not disturb each other.
func streams(t *testing.T, dev *runtime.Device) {
	a, err := dev.NewStream()
	require.NoError(t, err)
	b, err := dev.NewStream()
	require.NoError(t, err)
	x, bad, good := upload[float32](t, dev, 1, 2, 3, 4), upload[float32](t, dev, 0, 0), upload[float32](t, dev, 0, 0)
	require.NoError(t, dev.Sync())
	pos := pick(t, a, bad, x, upload[int32](t, dev, 3, 7))
	pick(t, b, good, x, upload[int32](t, dev, 3, 1))
	require.NoError(t, b.Sync())
	require.ErrorIs(t, a.Sync(), runtime.ErrLaunch)
	require.NoError(t, a.Sync())
	fails(t, bad, pos)
	reads(t, good, 4, 2)
}

// Memory that was freed and is given out again is new memory.
func reuse(t *testing.T, dev *runtime.Device) {
	x := upload[float32](t, dev, 1, 2, 3, 4)
	st := dev.DefaultStream()
	for range 20 {
		out := upload[float32](t, dev, 0, 0)
		pick(t, st, out, x, upload[int32](t, dev, 3, 7))
		require.NoError(t, out.Free())
		again, err := runtime.Alloc[float32](dev, 2)
		require.NoError(t, err)
		pick(t, st, again, x, upload[int32](t, dev, 0, 1))
		reads(t, again, 1, 2)
		require.NoError(t, again.Free())
	}
}

// A graph fails by what it reads when it is launched.
func graph(t *testing.T, dev *runtime.Device) {
	x, ids := upload[float32](t, dev, 1, 2, 3, 4), upload[int32](t, dev, 3, 0)
	out, next, good := upload[float32](t, dev, 0, 0), upload[float32](t, dev, 0, 0), upload[float32](t, dev, 0, 0, 0, 0)
	var pos string
	g, err := dev.Capture(func(s *runtime.Stream) error {
		twice(t, s, good, x)
		if err := s.Discard(out.Buffer()); err != nil {
			return err
		}
		pos = pick(t, s, out, x, ids)
		if err := s.Discard(next.Buffer()); err != nil {
			return err
		}
		twice(t, s, next, out)
		return nil
	})
	require.NoError(t, err)
	defer g.Close()
	st := dev.DefaultStream()
	for range 2 {
		require.NoError(t, ids.CopyFrom([]int32{3, 0}))
		require.NoError(t, g.Launch(st))
		reads(t, next, 8, 2)
		require.NoError(t, ids.CopyFrom([]int32{3, 4}))
		require.NoError(t, g.Launch(st))
		fails(t, next, pos)
		fails(t, out, pos)
		reads(t, good, 2, 4, 6, 8)
	}
}

// Of several replays of a graph without a wait between them only what depends on the one that
// failed has its error, also where the log has no room for the record.
func replays(t *testing.T, dev *runtime.Device) {
	for _, size := range []int{1 << 20, 40} {
		require.NoError(t, dev.SetOutputSize(size))
		x, ids := upload[float32](t, dev, 1, 2, 3, 4), upload[int32](t, dev, 0, 0)
		out := upload[float32](t, dev, 0, 0)
		var pos string
		g, err := dev.Capture(func(s *runtime.Stream) error {
			err := s.Discard(out.Buffer())
			pos = pick(t, s, out, x, ids)
			return err
		})
		require.NoError(t, err)
		list := [][]int32{{3, 0}, {2, 1}, {0, 4}, {1, 2}, {5, 0}, {0, 3}}
		var from []runtime.Slice[int32]
		var got []runtime.Slice[float32]
		for _, l := range list {
			from = append(from, upload(t, dev, l...))
			got = append(got, upload[float32](t, dev, 0, 0))
		}
		for range 2 {
			for i := range list {
				require.NoError(t, runtime.Copy(ids, from[i]))
				require.NoError(t, g.Launch(dev.DefaultStream()))
				require.NoError(t, runtime.Copy(got[i], out))
			}
			for i, l := range list {
				if l[0] < 4 && l[1] < 4 {
					reads(t, got[i], float32(l[0]+1), float32(l[1]+1))
					continue
				}
				_, err := got[i].Host()
				require.ErrorIs(t, err, runtime.ErrLaunch)
				require.ErrorContains(t, err, "(launched at "+pos+")")
			}
		}
		require.NoError(t, g.Close())
	}
	require.NoError(t, dev.SetOutputSize(1<<20))
}

// More launches than are remembered change nothing.
func many(t *testing.T, dev *runtime.Device) {
	x, out := upload[float32](t, dev, 1, 2, 3, 4), upload[float32](t, dev, 0, 0)
	good, next := upload[float32](t, dev, 0, 0, 0, 0), upload[float32](t, dev, 0, 0)
	st := dev.DefaultStream()
	pos := pick(t, st, out, x, upload[int32](t, dev, 3, 7))
	n := 5000
	if testing.Short() && slices.Contains([]string{"rocm", "metal"}, dev.Info().Kind) {
		n = 50
	}
	for range n {
		twice(t, st, good, x)
	}
	twice(t, st, next, out)
	fails(t, next, pos)
	reads(t, good, 2, 4, 6, 8)
}

// Failures that the device log has no room for are found, too.
func lost(t *testing.T, dev *runtime.Device) {
	const n = 40000
	d := tensor.On(dev)
	table := tensor.Arange(d, 0, float32(4))
	ids := tensor.From(d, slices.Repeat([]int32{9}, n), n)
	first := table.IndexSelect(tensor.From(d, []int32{3, 1}, 2), 0)
	bad, pos := table.IndexSelect(ids, 0), line()
	good := table.IndexSelect(tensor.From(d, []int32{2, 0}, 2), 0) // which could fail as well
	again, where := table.IndexSelect(ids.Narrow(0, 0, 8), 0), line()
	for range 2 {
		for x, at := range map[*tensor.Tensor]string{bad: pos, again: where} {
			err := read(x)
			require.ErrorIs(t, err, runtime.ErrLaunch)
			require.ErrorContains(t, err, at)
		}
	}
	for x, want := range map[*tensor.Tensor][]float32{first: {3, 1}, good: {2, 0}} {
		got, err := tensor.ToSlice[float32](x)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// What was found on the host is an error there.
func host(t *testing.T, dev *runtime.Device) {
	bad, pos := failing(t, dev)
	_, err := bad.Narrow(0, 0, 1).Narrow(1, 0, 1).Item()
	wrong(t, err, pos)
	_, err = tensor.To2[float32](bad)
	wrong(t, err, pos)
}
