package loss_test

import (
	"testing"

	"github.com/gokiln/kiln/nn/loss"
	"github.com/gokiln/kiln/tensor"
)

// BenchmarkCrossEntropy is the time of a loss of a vocabulary and of its gradient.
func BenchmarkCrossEntropy(b *testing.B) {
	d, err := tensor.Open("auto")
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	const rows, classes = 256, 32000
	for _, dt := range []tensor.DType{tensor.F32, tensor.BF16} {
		b.Run(dt.String(), func(b *testing.B) {
			x := tensor.NewVar(tensor.Randn(d, tensor.F32, 0, 2, rows, classes).Cast(dt)).Tensor()
			ids := tensor.Arange(d, int64(0), rows)
			b.SetBytes(3 * int64(rows*classes*dt.Size())) // read twice, and written once
			for b.Loop() {
				g, err := loss.CrossEntropy(x, ids, loss.CrossEntropyOptions{}).Backward()
				if err == nil {
					err = d.Synchronize()
				}
				if err != nil {
					b.Fatal(err)
				}
				_ = g.Of(x).Free()
			}
		})
	}
}
