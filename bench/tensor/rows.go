package main

import (
	"fmt"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	rowsops "github.com/gokiln/kiln/ops/rows"
	"github.com/gokiln/kiln/ops/sort"
	"github.com/gokiln/kiln/tensor"
)

// resized is a view of the first elements of memory.
func resized(v ops.View, s ...int) ops.View {
	v.Layout = layout.Contiguous(layout.Shape(s))
	return v
}

// reductions are over all dimensions, along rows and across them, of matrices of n
// elements.
func reductions(d *tensor.Device, small bool) []work {
	n := 64 << 20
	if small {
		n = 4 << 20
	}
	s := d.Stream()
	var list []work
	for _, t := range []dtype.DType{dtype.F32, dtype.BF16} {
		x, out := drawn(d, t, n), room(d, t, n/16)
		size := float64(t.Bytes(n))
		add := func(name string, r *rowsops.Reduction, rows, wide int, dims ...int) {
			kept := 1
			for i, m := range []int{rows, wide} {
				if len(dims) == 1 && dims[0] != i {
					kept = m
				}
			}
			to := resized(out, kept)
			if len(dims) == 2 {
				to = resized(out)
			}
			in := resized(x, rows, wide)
			if r.Result(t) == dtype.U32 {
				to = room(d, dtype.U32, kept)
				if len(dims) == 2 {
					to = resized(to)
				}
			}
			list = append(list, work{name: fmt.Sprintf("%s %s", name, t), bytes: size, op: func() error { return r.Run(s, to, in, dims) }})
		}
		add("sum all", rowsops.Sum, n/4096, 4096, 0, 1)
		add("sum last 4096", rowsops.Sum, n/4096, 4096, 1)
		add("sum last 256", rowsops.Sum, n/256, 256, 1)
		add("sum last 16", rowsops.Sum, n/16, 16, 1)
		add("sum last 32768", rowsops.Sum, n/32768, 32768, 1)
		add("sum first 4096", rowsops.Sum, n/4096, 4096, 0)
		for _, r := range []struct {
			name string
			of   *rowsops.Reduction
		}{{"argmax", rowsops.ArgMax}, {"var", rowsops.Var}, {"logsumexp", rowsops.LogSumExp}} {
			add(r.name+" all", r.of, n/4096, 4096, 0, 1)
			add(r.name+" last 4096", r.of, n/4096, 4096, 1)
			add(r.name+" first 4096", r.of, n/4096, 4096, 0)
		}
	}
	return list
}

// rows are operations that make rows of rows, 4096 of them at least where rows are of
// 32768 on a GPU.
func rows(d *tensor.Device, small bool) []work {
	elements, most := 64<<20, 128<<20
	if small {
		elements, most = 4<<20, 4<<20
	}
	s := d.Stream()
	var list []work
	for _, t := range []dtype.DType{dtype.F32, dtype.BF16} {
		x, out, scale := drawn(d, t, most), room(d, t, most), drawn(d, t, most/16)
		add := func(name string, wide int, f func(out, x, w ops.View) error) {
			n := elements
			if wide == 32768 {
				n = most
			}
			out, x, w := resized(out, n/wide, wide), resized(x, n/wide, wide), resized(scale, min(wide, n/16))
			list = append(list, work{name: fmt.Sprintf("%s %dx%d %s", name, n/wide, wide, t), bytes: 2 * float64(t.Bytes(n)), op: func() error { return f(out, x, w) }})
		}
		for _, wide := range []int{256, 4096, 32768, 262144} {
			add("softmax", wide, func(out, x, _ ops.View) error { return rowsops.Softmax(s, out, x, 1, false) })
			add("rms_norm", wide, func(out, x, w ops.View) error { return rowsops.RMSNorm(s, out, x, w, 1, 1e-5) })
			add("layer_norm", wide, func(out, x, w ops.View) error { return rowsops.LayerNorm(s, out, x, w, w, 1, 1e-5) })
		}
		add("log_softmax", 4096, func(out, x, _ ops.View) error { return rowsops.Softmax(s, out, x, 1, true) })
		add("softmax first", 4096, func(out, x, _ ops.View) error { return rowsops.Softmax(s, out, x, 0, false) })
		add("cumsum last", 4096, func(out, x, _ ops.View) error { return rowsops.CumSum.Run(s, out, x, 1) })
		add("cumsum first", 4096, func(out, x, _ ops.View) error { return rowsops.CumSum.Run(s, out, x, 0) })
		add("cumsum of one row", elements, func(out, x, _ ops.View) error { return rowsops.CumSum.Run(s, out, x, 1) })
	}
	return list
}

// sorts give values and indices, whose memory is what counts.
func sorts(d *tensor.Device, small bool) []work {
	n := 16 << 20
	if small {
		n = 1 << 18
	}
	s := d.Stream()
	var list []work
	for _, t := range []dtype.DType{dtype.F32, dtype.BF16, dtype.I64} {
		x, values, indices := drawn(d, t, n), room(d, t, n), room(d, dtype.U32, n)
		for _, wide := range []int{256, 1024, 32768, n} {
			v, i, in := resized(values, n/wide, wide), resized(indices, n/wide, wide), resized(x, n/wide, wide)
			list = append(list, work{name: fmt.Sprintf("sort %dx%d %s", n/wide, wide, t), bytes: float64(2*t.Bytes(n) + 4*n), op: func() error { return sort.Sort(s, v, i, in, 1, false) }})
		}
	}
	return list
}
