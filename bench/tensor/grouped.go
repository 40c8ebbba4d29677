package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	matmulops "github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// experts are layers of a mixture of experts: how many there are, the size of their matrices, and the
// fewest and most rows of one.
var experts = []struct{ count, k, n, least, most int }{
	{8, 2048, 768, 68, 165}, {128, 2048, 768, 68, 165}, {8, 2048, 768, 3000, 5000}, {128, 768, 2048, 68, 165}, {128, 2048, 768, 1, 16},
}

// grouped is products of groups of rows, as of experts, of weights as they are and transposed, and the
// gradient of the weights; the first of each by every strategy, too.
func grouped(d *tensor.Device, small bool) []work {
	var list []work
	t := dtype.BF16
	for i, e := range experts {
		if small {
			if e.count > 8 || e.most > 1000 {
				continue
			}
			t, e.k, e.n = dtype.F32, e.k/4, e.n/4
		}
		ends, rows := groupEnds(d, e.count, e.least, e.most)
		x, g, w, turnedW := drawn(d, t, rows, e.k), drawn(d, t, rows, e.n), drawn(d, t, e.count, e.k, e.n), turned(drawn(d, t, e.count, e.n, e.k))
		out := room(d, t, rows, e.n)
		add := func(name, way string, out, a, b ops.View) {
			list = append(list, work{
				name:  fmt.Sprintf("grouped %d of %d-%dx%dx%d%s %s", e.count, e.least, e.most, e.n, e.k, name, t),
				flops: 2 * float64(rows) * float64(e.k) * float64(e.n),
				op: func() error {
					return matmulops.Grouped(d.Stream(), out, a, b, ends, matmulops.Options{Strategy: way})
				},
			})
		}
		add("", "", out, x, w)
		add(" transposed", "", out, x, turnedW)
		add(" gradient", "", room(d, t, e.count, e.k, e.n), turned(x), g)
		for _, way := range matmulops.GroupedStrategies() {
			if i < 3 {
				add(" transposed in "+way, way, out, x, turnedW)
			}
		}
		if small {
			add(" one by one", "", out, x, w)
			list[len(list)-1].op = func() error { return separately(d, out, x, w, e.least, e.most) }
		}
	}
	return list
}

// sizes are those of groups, the same ones each time.
func sizes(count, least, most int) []int {
	rng, list := rand.New(rand.NewPCG(1, 2)), make([]int, count)
	for i := range list {
		list[i] = least + rng.IntN(most-least+1)
	}
	return list
}

// groupEnds puts the ends of groups on the device, and returns how many rows they have.
func groupEnds(d *tensor.Device, count, least, most int) (ops.View, int) {
	list, rows := make([]int32, count), 0
	for i, n := range sizes(count, least, most) {
		rows += n
		list[i] = int32(rows)
	}
	v := room(d, dtype.I32, count)
	if mem, err := runtime.View[int32](v.Buf); err == nil {
		_ = mem.Slice(0, count).CopyFrom(list) // zeros are ends, too
	}
	return v, rows
}

// separately multiplies the groups one after the other, whose sizes the host knows here.
func separately(d *tensor.Device, out, x, w ops.View, least, most int) error {
	begin := 0
	for i, n := range sizes(w.Layout.Shape()[0], least, most) {
		of := func(v ops.View, d, from, n int) ops.View {
			v.Layout, _ = v.Layout.Narrow(d, from, n) // of as many
			return v
		}
		weights := of(w, 0, i, 1)
		weights.Layout, _ = layout.New(weights.Layout.Shape()[1:], weights.Layout.Strides()[1:], weights.Layout.Offset())
		if err := matmulops.Matmul(d.Stream(), of(out, 0, begin, n), of(x, 0, begin, n), weights); err != nil {
			return err
		}
		begin += n
	}
	return nil
}
