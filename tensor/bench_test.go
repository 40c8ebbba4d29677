package tensor_test

import (
	"testing"

	"github.com/gokiln/kiln/tensor"
)

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
