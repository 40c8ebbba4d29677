package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// An operation leaves nothing for Go to collect but the tensor and the two handles of its
// memory. What happens once in a while, such as a longer list, does not count among so many.
// To free memory that work is queued for is a job for the queue, which is not counted.
func TestSmallAddAllocates(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer d.Close()
	x := tensor.Ones(d, tensor.F32, 1024)
	const n = 5000
	made := make([]*tensor.Tensor, 0, n+1) // the first one is a trial
	require.Less(t, testing.AllocsPerRun(n, func() { made = append(made, x.Add(x)) }), 3.5)
	for _, y := range made {
		require.NoError(t, y.Free())
	}
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
