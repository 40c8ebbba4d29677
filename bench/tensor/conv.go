package main

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/ops"
	convops "github.com/gokiln/kiln/ops/conv"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor"
)

// conv is layers of networks for images, of a batch of them, and one over sound.
func conv(d *tensor.Device, small bool) []work {
	batch := 32
	if small {
		batch = 1
	}
	s := d.Stream()
	f := dtype.F32
	var list []work
	add := func(name string, x, weights layout.Shape, c convops.Convolution) {
		shape, err := c.Shape(x, weights)
		if err != nil {
			return // shapes below are right
		}
		in, w, out := drawn(d, f, x...), drawn(d, f, weights...), room(d, f, shape...)
		flops := 2 * float64(shape.Count()) * float64(weights[1:].Count())
		list = append(list, work{name: name + " f32", flops: flops, op: func() error { return convops.Conv(s, out, in, w, c) }})
	}
	one := []int{1, 1}
	add("conv2d 3x3 64 of 56x56", layout.Shape{batch, 64, 56, 56}, layout.Shape{64, 64, 3, 3}, convops.Convolution{Padding: one})
	add("conv2d 3x3 256 of 14x14", layout.Shape{batch, 256, 14, 14}, layout.Shape{256, 256, 3, 3}, convops.Convolution{Padding: one})
	add("conv2d 1x1 256 of 56x56", layout.Shape{batch, 64, 56, 56}, layout.Shape{256, 64, 1, 1}, convops.Convolution{})
	add("conv2d 3x3 depthwise 256 of 56x56", layout.Shape{batch, 256, 56, 56}, layout.Shape{256, 1, 3, 3}, convops.Convolution{Padding: one, Groups: 256})
	add("conv1d 3 384 of 3000", layout.Shape{batch, 80, 3000}, layout.Shape{384, 80, 3}, convops.Convolution{Padding: []int{1}})
	list = append(list, channelsLast(d, small)...)
	x, mean := drawn(d, f, batch, 64, 112, 112), room(d, f, batch, 64, 56, 56)
	pooled := float64(f.Bytes(x.Layout.Count() + mean.Layout.Count()))
	two := convops.Pooling{Kernel: []int{2, 2}}
	return append(list,
		work{name: "avg_pool2d f32", bytes: pooled, op: func() error { return convops.AvgPool(s, mean, x, two) }},
		work{name: "max_pool2d f32", bytes: pooled, op: func() error { return convops.MaxPool(s, mean, ops.View{}, x, two) }},
		work{name: "upsample_nearest2d f32", bytes: pooled, op: func() error { return convops.UpsampleNearest(s, x, mean, 2) }},
		work{name: "upsample_bilinear2d f32", bytes: pooled, op: func() error { return convops.UpsampleBilinear(s, x, mean, convops.Bilinear{}) }},
	)
}

// resnet are layers of ResNet-50: channels of the input and of the result, and sides of the input and of
// the kernel, and the stride.
var resnet = []struct{ in, out, side, kernel, stride int }{
	{64, 64, 56, 3, 1}, {64, 256, 56, 1, 1}, {128, 128, 28, 3, 1}, {256, 256, 14, 3, 1}, {512, 512, 7, 3, 1}, {3, 64, 224, 7, 2}, {128, 128, 56, 3, 2},
}

// channelsLast is these layers of type BF16 with channels innermost, also by each strategy, and with
// channels first.
func channelsLast(d *tensor.Device, small bool) (list []work) {
	const batch, t = 64, dtype.BF16
	for _, l := range resnet {
		c := convops.Convolution{Padding: []int{l.kernel / 2, l.kernel / 2}, Stride: []int{l.stride, l.stride}}
		xs, ws := layout.Shape{batch, l.in, l.side, l.side}, layout.Shape{l.out, l.in, l.kernel, l.kernel}
		shape, err := c.Shape(xs, ws)
		if small || err != nil {
			return nil
		}
		last := func(s layout.Shape) ops.View {
			v := drawn(d, t, s[0], s[2], s[3], s[1])
			v.Layout, _ = v.Layout.Permute(0, 3, 1, 2) // of four dimensions
			return v
		}
		add := func(name, way string, out, x, w ops.View) {
			c := c
			c.Strategy = way
			list = append(list, work{
				name:  fmt.Sprintf("conv2d %dx%d/%d %d of %dx%d to %d %s bf16", l.kernel, l.kernel, l.stride, l.in, l.side, l.side, l.out, name),
				flops: 2 * float64(shape.Count()) * float64(ws[1:].Count()),
				op:    func() error { return convops.Conv(d.Stream(), out, x, w, c) },
			})
		}
		x, w, out := last(xs), last(ws), last(shape)
		add("channels last", "", out, x, w)
		first := list[len(list)-1]
		gradient := func(name string, op func() error) {
			list = append(list, work{name: strings.Replace(first.name, "channels", name+", channels", 1), flops: first.flops, op: op})
		}
		gradient("gradient of weights", func() error { return convops.WeightGradient(d.Stream(), w, x, out, c) })
		if back := c; l.stride == 1 { // by that of the result, which has as many positions
			gradient("gradient of input", func() error { return convops.ConvTranspose(d.Stream(), x, out, w, back) })
		}
		add("channels first", "", room(d, t, shape...), drawn(d, t, xs...), drawn(d, t, ws...))
		for _, way := range convops.Strategies() {
			if strings.HasPrefix(way, "matrix") {
				add("channels last in "+way, way, out, x, w)
			}
		}
	}
	return list
}
