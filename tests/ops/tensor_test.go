package ops_test

import (
	"os"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tests/sim"
	"github.com/gokiln/kiln/tests/sim/hip"
	"github.com/gokiln/kiln/tests/sim/metal"
)

// devices opens one of each kind, and two AMD GPUs; or those of the CPU and the one that KILN_DEVICE
// names, in place of simulated ones.
func devices(t *testing.T) []*tensor.Device {
	t.Helper()
	names := []string{"cpu", "cpu:interp"}
	real := os.Getenv("KILN_DEVICE")
	if real != "" {
		names = append(names, real)
	}
	var list []*tensor.Device
	for _, name := range names {
		d, err := tensor.Open(name)
		require.NoError(t, err)
		list = append(list, d)
	}
	if real != "" {
		return list
	}
	sim.QuickROCm(t)
	sim.QuickMetal(t)
	for _, arch := range []string{"gfx1100", "gfx942"} {
		list = append(list, tensor.On(sim.OpenROCm(t, arch)))
	}
	return append(list, tensor.On(sim.OpenMetal(t)))
}

func values(t *testing.T, x *tensor.Tensor) []float32 {
	t.Helper()
	list, err := tensor.ToSlice[float32](x)
	require.NoError(t, err)
	return list
}

// Tensors go from each device to each, as views, and are computed with there.
func TestTo(t *testing.T) {
	list := devices(t)
	for _, from := range list {
		for _, to := range list {
			x := tensor.From(from, []float32{1, 2, 3, 4, 5, 6}).Reshape(2, 3)
			for name, v := range map[string]*tensor.Tensor{"dense": x, "turned": x.T(), "narrow": x.Narrow(1, 1, 2), "broadcast": x.Narrow(0, 0, 1).BroadcastTo(2, 3)} {
				there := v.To(to)
				require.Equal(t, values(t, v), values(t, there), "%s, from %v to %v", name, from, to)
				require.Equal(t, to, there.Device())
				require.Equal(t, values(t, v.MatMul(v.T()).Exp()), values(t, there.MatMul(there.T()).Exp().To(from)), "%s, on %v", name, to)
			}
			require.NoError(t, x.Free())
		}
	}
}

// settled collects tensors until a device has no more than some bytes.
func settled(t *testing.T, d *tensor.Device, bytes int64) {
	t.Helper()
	for range 2000 {
		if d.Stats().Bytes <= bytes {
			return
		}
		goruntime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	require.LessOrEqual(t, d.Stats().Bytes, bytes)
}

// GPUs count their memory as the CPU does: nothing leaks, the peak is known, and an
// operation that has no memory after what was dropped is collected says what it wanted.
func TestMemory(t *testing.T) {
	for _, d := range devices(t)[2:] {
		t.Run(d.Name(), func(t *testing.T) {
			x := tensor.Zeros(d, tensor.F32, 1<<16) // 256 KiB
			require.NoError(t, d.Synchronize())
			settled(t, d, 1<<18)
			d.ResetPeak()
			require.NoError(t, x.Exp().Free())
			require.NoError(t, x.Neg().Free())
			require.EqualValues(t, 2<<18, d.PeakBytes())

			d.SetMemoryLimit(5 << 18)
			y := x
			for range 20 { // all but the last one are garbage
				y = y.AddScalar(1)
			}
			require.EqualValues(t, 20, values(t, y.Narrow(0, 0, 1))[0])
			err := x.Reshape(1, 1<<16).BroadcastTo(8, 1<<16).Exp().Err()
			require.ErrorIs(t, err, tensor.ErrOutOfMemory)
			for _, what := range []string{"exp: [8, 65536] of f32: " + d.Name() + ": allocate: ", "2.0 MiB wanted, ", " of this program, ", " free on the device, limited to 1.2 MiB", "(tensor_test.go:"} {
				require.ErrorContains(t, err, what)
			}
			require.NoError(t, x.Exp().Err(), "the device is still usable")
			d.SetMemoryLimit(0)
			y = nil
			settled(t, d, 1<<18)
			goruntime.KeepAlive(x)
		})
	}
}

// The result of an operation that cannot be launched is free at once.
func TestFailedLaunch(t *testing.T) {
	sim.QuickROCm(t)
	d := tensor.On(sim.OpenROCm(t, "gfx1100"))
	x := tensor.Zeros(d, tensor.F32, 1000)
	require.NoError(t, x.Exp().Free())
	require.NoError(t, x.Sum(0).Free())
	require.NoError(t, d.Synchronize())
	held := d.Stats().Bytes
	lib := hip.Attach(t)
	for name, f := range map[string]func() *tensor.Tensor{"exp": x.Exp, "sum": func() *tensor.Tensor { return x.Sum(0) }} {
		lib.Fail("hipModuleLaunchKernel", 1, 0, 1)
		err := f().Err()
		require.ErrorContains(t, err, name+": ")
		require.ErrorContains(t, err, "hipErrorInvalidValue")
		require.Equal(t, held, d.Stats().Bytes, name)
	}
	require.NoError(t, x.Exp().Err())
}

// The simulated devices run out of memory themselves, too.
func TestDeviceOutOfMemory(t *testing.T) {
	list := devices(t)
	hip.Attach(t).Set("memory", 8<<20)
	defer hip.Attach(t).Set("memory", 0)
	metal.Open(t).Set("memory", 8)
	for _, d := range []*tensor.Device{list[2], list[4]} {
		x := tensor.Zeros(d, tensor.F32, 1<<18) // 1 MiB
		for range 50 {
			x = x.AddScalar(1)
		}
		require.EqualValues(t, 50, values(t, x.Narrow(0, 0, 1))[0], d)
		err := tensor.Zeros(d, tensor.F32, 1<<24).Err()
		require.ErrorIs(t, err, tensor.ErrOutOfMemory)
		require.ErrorContains(t, err, "zeros: [16777216] of f32: "+d.Name()+": allocate: ")
		require.ErrorContains(t, err, "64.0 MiB wanted, ")
	}
}
