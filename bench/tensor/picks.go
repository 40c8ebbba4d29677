package main

import (
	"fmt"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/sort"
	"github.com/gokiln/kiln/tensor"
)

// picks are some elements of rows in the order of sorting. Their memory is that of reading
// the rows once.
func picks(d *tensor.Device, small bool) []work {
	n := 16 << 20
	if small {
		n = 1 << 18
	}
	s := d.Stream()
	var list []work
	for _, t := range []dtype.DType{dtype.F32, dtype.BF16, dtype.I64} {
		x := drawn(d, t, n)
		for _, wide := range []int{4096, 32768, n} {
			in, one := resized(x, n/wide, wide), room(d, t, n/wide)
			values, indices := room(d, t, n/wide, 64), room(d, dtype.U32, n/wide, 64)
			of := fmt.Sprintf("%dx%d %s", n/wide, wide, t)
			list = append(list, work{name: "topk 64 of " + of, bytes: float64(t.Bytes(n)), op: func() error { return sort.TopK(s, values, indices, in, 1, true) }})
			if t.IsFloat() {
				list = append(list, work{name: "median of " + of, bytes: float64(t.Bytes(n)), op: func() error { return sort.Quantile(s, one, in, 1, 0.5) }})
			}
		}
	}
	return list
}
