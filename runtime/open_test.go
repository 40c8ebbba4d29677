package runtime

import (
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/cpu"
	"github.com/gokiln/kiln/runtime/internal/cuda"
	"github.com/gokiln/kiln/runtime/internal/cudatest"
)

// withNumber is a device's name with its number: "cpu" is "cpu:0" too.
func withNumber(name string) string {
	if !strings.Contains(name, ":") {
		return name + ":0"
	}
	return name
}

func TestOpenShares(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		again, err := r.registry.openDevice(withNumber(r.Name()))
		require.NoError(t, err)
		require.Same(t, r.Device, again)
		s, err := From(again, []int{1, 2, 3})
		require.NoError(t, err)
		require.NoError(t, again.Close())
		_, err = s.Host()
		require.NoError(t, err, "one Close for each Open")
		p, err := AllocPinned[int](r.Device, 3)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.NoError(t, r.Close())
		_, err = s.Host()
		require.ErrorIs(t, err, ErrClosed)
		_, err = Alloc[int](r.Device, 1)
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, r.Sync(), ErrClosed)
		require.ErrorIs(t, r.DefaultStream().Sync(), ErrClosed)
		require.NoError(t, s.Free())
		require.NoError(t, p.Free())
		fresh, err := r.registry.openDevice("auto")
		require.NoError(t, err)
		require.NotSame(t, r.Device, fresh)
		require.NoError(t, fresh.Close())
	})
}

// Handles that are collected after their device was closed do no harm.
func TestCollectedAfterClose(t *testing.T) {
	r := newRig(t, "standin")
	func() {
		for range 20 {
			_, err := Alloc[int](r.Device, 10)
			require.NoError(t, err)
			_, err = r.NewStream()
			require.NoError(t, err)
		}
	}()
	require.NoError(t, r.Close())
	frees := r.standin.Calls("cuMemFreeAsync")
	for range 5 {
		goruntime.GC()
	}
	require.Equal(t, frees, r.standin.Calls("cuMemFreeAsync"))
	require.Zero(t, r.standin.Get("retained"))
}

func TestOpenNames(t *testing.T) {
	dev, err := Open("cpu")
	require.NoError(t, err)
	require.Equal(t, "cpu", dev.Name())
	require.Equal(t, "cpu", dev.String())
	require.Contains(t, []int{8, 16, 32}, dev.WarpSize())
	require.Contains(t, dev.Info().Formats, "kir")
	free, total, err := dev.MemInfo()
	require.NoError(t, err)
	require.Positive(t, total)
	require.LessOrEqual(t, free, total)
	require.NoError(t, dev.Close())
	for _, name := range []string{"tpu", "cpu:x", "cpu:-1", "cpu:1", "cpu:"} {
		_, err := Open(name)
		require.ErrorIs(t, err, ErrNoDevice, name)
	}
	narrow, err := Open("cpu:interp8")
	require.NoError(t, err)
	require.Equal(t, "cpu:interp8", narrow.Name())
	require.Equal(t, 8, narrow.WarpSize())
	again, err := Open("cpu:interp8")
	require.NoError(t, err)
	require.Same(t, narrow, again)
	require.NoError(t, again.Close())
	require.NoError(t, narrow.Close())
	_, err = Open("cpu:x")
	require.EqualError(t, err, `device "cpu:x": unknown engine "x" for the CPU: want one of avx512, avx2, interp, interp16, interp8, avx512-record, avx2-record, amx-record: no such device`)
	_, err = Open("tpu")
	require.EqualError(t, err, `device "tpu": unknown kind; this build knows cuda, rocm, metal, cpu and auto: no such device`)
}

func TestAutoFallsBack(t *testing.T) {
	lib := cudatest.Open(t)
	r := newRegistry(cuda.New(lib.Path), cpu.New())
	dev, err := r.openDevice("auto")
	require.NoError(t, err)
	require.Equal(t, "cuda:0", dev.Name())
	require.NoError(t, dev.Close())

	lib.Set("devices", 0)
	dev, err = r.openDevice("")
	require.NoError(t, err)
	require.Equal(t, "cpu", dev.Name())
	require.NoError(t, dev.Close())
	_, err = r.openDevice("cuda")
	require.ErrorIs(t, err, ErrNoDevice)
	require.ErrorContains(t, err, "open cuda:0: number of devices that the driver sees: 0")

	missing := newRegistry(cuda.New("libkiln-none.so"))
	_, err = missing.openDevice("auto")
	require.ErrorIs(t, err, ErrNoDevice)
	require.ErrorContains(t, err, "libkiln-none.so")
}

func TestProbe(t *testing.T) {
	reports := Probe()
	var kinds []string
	for _, r := range reports {
		kinds = append(kinds, r.Kind)
	}
	require.Equal(t, []string{"cuda", "rocm", "metal", "cpu"}, kinds)
	require.NoError(t, reports[len(reports)-1].Err)
	list := Devices()
	require.Equal(t, "cpu", list[len(list)-1].Name)
	for _, r := range reports {
		if r.Err != nil && r.Library == "" {
			require.ErrorIs(t, r.Err, ErrNoDevice)
			if len(r.Looked) == 0 {
				require.ErrorContains(t, r.Err, "there is no")
			}
			// All that was looked for, or the one that was there and did not start.
			for _, name := range r.Looked {
				require.True(t, strings.Contains(r.Err.Error(), name) || strings.Contains(r.Err.Error(), "start the"), "%v does not name %s", r.Err, name)
			}
		}
		t.Logf("%+v", r)
	}
}
