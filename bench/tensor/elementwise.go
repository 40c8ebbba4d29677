package main

import (
	"github.com/gokiln/kiln/ops"
	elementwiseops "github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/tensor"
)

// elementwise is what touches every element once, at 256 MiB an operand, or 16 on a CPU.
func elementwise(d *tensor.Device, small bool) []work {
	n := 64 << 20
	if small {
		n = 4 << 20
	}
	var list []work
	for _, dt := range []tensor.DType{tensor.F32, tensor.BF16} {
		x := tensor.Randn(d, dt, 0, 1, n/4096, 4096)
		y := tensor.Randn(d, dt, 0, 1, n/4096, 4096)
		bias, mask := tensor.Randn(d, dt, 0, 1, 4096), x.GtScalar(0)
		other := tensor.BF16
		if dt == tensor.BF16 {
			other = tensor.F32
		}
		size := float64(n * dt.Size())
		z, z2 := drawn(d, dt, n), drawn(d, dt, n)
		name := func(s string) string { return s + " " + dt.String() }
		list = append(list,
			work{name: name("copy"), bytes: 2 * size, run: func() *tensor.Tensor { return x.Copy() }},
			work{name: name("add"), bytes: 3 * size, run: func() *tensor.Tensor { return x.Add(y) }},
			work{name: name("broadcast add"), bytes: 2 * size, run: func() *tensor.Tensor { return x.Add(bias) }},
			work{name: name("exp"), bytes: 2 * size, run: func() *tensor.Tensor { return x.Exp() }},
			work{name: name("gelu"), bytes: 2 * size, run: func() *tensor.Tensor { return x.GeluErf() }},
			work{name: name("add scalar"), bytes: 2 * size, run: func() *tensor.Tensor { return x.AddScalar(1.5) }},
			work{name: name("multiply by scalar"), bytes: 2 * size, run: func() *tensor.Tensor { return x.MulScalar(1.5) }},
			work{name: name("where"), bytes: 3*size + float64(n), run: func() *tensor.Tensor { return mask.Where(x, y) }},
			work{name: name("compare"), bytes: 2*size + float64(n), run: func() *tensor.Tensor { return x.Gt(y) }},
			work{name: name("maximum in place"), bytes: 3 * size, op: func() error { return elementwiseops.Maximum.Run(d.Stream(), z, []ops.View{z, z2}) }},
			work{name: name("cast"), bytes: size + float64(n*other.Size()), run: func() *tensor.Tensor { return x.Cast(other) }},
			work{name: name("transpose copy"), bytes: 2 * size, run: func() *tensor.Tensor { return x.T().Contiguous() }},
		)
	}
	return list
}
