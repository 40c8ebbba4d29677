package main

import (
	"fmt"

	"github.com/gokiln/kiln/ops/dtype"
	elementwiseops "github.com/gokiln/kiln/ops/elementwise"
	matmulops "github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/tensor"
)

// layers are the products of a network's layers with what follows them, of few and of many rows.
func layers(d *tensor.Device, small bool) []work {
	rows, n, k := []int{16, 2048}, 14336, 4096
	if small {
		rows, n, k = []int{16, 256}, 2048, 1024
	}
	s := d.Stream()
	var list []work
	for _, t := range []dtype.DType{dtype.BF16, dtype.F32} {
		gate, up, bias := turned(drawn(d, t, n, k)), turned(drawn(d, t, n, k)), drawn(d, t, n)
		for _, m := range rows {
			x, out, residual := drawn(d, t, m, k), room(d, t, m, n), drawn(d, t, m, n)
			add := func(name string, products float64, e matmulops.Epilogue) {
				list = append(list, work{
					name:  fmt.Sprintf("%s %dx%dx%d %s", name, m, n, k, t),
					flops: products * 2 * float64(m) * float64(n) * float64(k),
					op:    func() error { return matmulops.MatmulWith(s, matmulops.Options{Epilogue: e}, out, x, gate) },
				})
			}
			add("linear", 1, matmulops.Epilogue{})
			add("linear bias", 1, matmulops.Epilogue{Bias: bias})
			add("linear bias gelu", 1, matmulops.Epilogue{Bias: bias, Act: elementwiseops.GeluErf})
			add("linear bias residual", 1, matmulops.Epilogue{Bias: bias, Residual: residual})
			add("swiglu", 2, matmulops.Epilogue{Act: elementwiseops.Silu, Up: up})
		}
	}
	return list
}
