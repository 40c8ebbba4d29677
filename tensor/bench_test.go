package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// An operation leaves nothing for Go to collect but the tensor, its sizes and its memory's handle.
func TestSmallAddAllocates(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer d.Close()
	x := tensor.Ones(d, tensor.F32, 1024)
	require.Less(t, testing.AllocsPerRun(500, func() {
		y := x.Add(x)
		_ = y.Free()
	}), 3.5)
	require.NoError(t, d.Synchronize())
}

// BenchmarkSmallAdd is the host's time of an operation on 1024 elements, with its result.
// The device's queue never fills, which would make the host wait for the device.
func BenchmarkSmallAdd(b *testing.B) {
	d, err := tensor.Open("auto")
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	x := tensor.Ones(d, tensor.F32, 1024)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		y := x.Add(x)
		if y.Err() != nil {
			b.Fatal(y.Err())
		}
		_ = y.Free()
		if n++; n%256 == 0 {
			b.StopTimer()
			if err := d.Synchronize(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}
