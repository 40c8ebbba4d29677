package main

import (
	"github.com/gokiln/kiln/ops/dtype"
	elementwiseops "github.com/gokiln/kiln/ops/elementwise"
	indexops "github.com/gokiln/kiln/ops/index"
	"github.com/gokiln/kiln/ops/random"
	"github.com/gokiln/kiln/ops/scatter"
	"github.com/gokiln/kiln/tensor"
)

// own is what writes by indices of which each element has its own, drawn at random, and
// what counts them.
func own(d *tensor.Device, small bool) []work {
	side := 4096
	if small {
		side = 1024
	}
	s := d.Stream()
	f := dtype.F32
	x, out, ids, counts := drawn(d, f, side, side), room(d, f, side, side), room(d, dtype.U32, side, side), room(d, dtype.U32, 1000)
	places := drawn(d, f, side, side)
	_ = random.Uniform.Run(s, places, 1, 0, dtype.FromFloat(f, 0), dtype.FromFloat(f, 1000))
	_ = elementwiseops.Copy(s, ids, places)
	size := float64(f.Bytes(side * side))
	return []work{
		{name: "scatter of own indices f32", bytes: 3 * size, op: func() error { return scatter.Scatter(s, out, ids, x, 0) }},
		{name: "scatter_add of own indices f32", bytes: 3 * size, op: func() error { return scatter.ScatterAdd(s, out, ids, x, 0) }},
		{name: "gather of own indices f32", bytes: 3 * size, op: func() error { return indexops.Gather(s, out, x, ids, 0) }},
		{name: "bincount of 1000", bytes: size, op: func() error { return indexops.Bincount(s, counts, ids) }},
		{name: "histc of 1000 f32", bytes: size, op: func() error { return indexops.Histc(s, counts, x, -1, 1) }},
	}
}
