package conv

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// Windows says how windows move over the last dimensions of images, one or two: as many as
// Kernel has numbers. Empty lists stand for the usual numbers.
type Windows struct {
	Kernel   []int
	Stride   []int // 1
	Padding  []int // 0, on both sides
	Dilation []int // 1
}

// Counts is how many windows there are along each of the last dimensions, of such sizes.
func (p *Windows) Counts(sizes ...int) ([]int, error) {
	n := len(p.Kernel)
	if n < 1 || n > 2 || len(sizes) != n {
		return nil, fmt.Errorf("%w: windows of %v over sizes %v, want one or two numbers of both", layout.ErrRank, p.Kernel, sizes)
	}
	for _, l := range [][]int{p.Stride, p.Padding, p.Dilation} {
		if len(l) != 0 && len(l) != n {
			return nil, fmt.Errorf("%w: %v for windows of %v", layout.ErrRank, l, p.Kernel)
		}
	}
	counts := make([]int, n)
	for d, k := range p.Kernel {
		stride, pad, dilation := axis(p.Stride, d, 1), axis(p.Padding, d, 0), axis(p.Dilation, d, 1)
		if k < 1 || stride < 1 || pad < 0 || dilation < 1 || sizes[d] < 0 {
			return nil, fmt.Errorf("%w: windows of %v with stride %v, padding %v and dilation %v over sizes %v", layout.ErrShape, p.Kernel, p.Stride, p.Padding, p.Dilation, sizes)
		}
		if max(k, stride, pad, sizes[d]) > farthest {
			return nil, fmt.Errorf("%w: windows of %v with stride %v and padding %v over sizes %v, want up to 2^40", layout.ErrTooLarge, p.Kernel, p.Stride, p.Padding, sizes)
		}
		reach, err := spread(k, dilation)
		if err != nil {
			return nil, err
		}
		if sizes[d]+2*pad < reach {
			return nil, fmt.Errorf("%w: windows of %v with padding %v and dilation %v over sizes %v", layout.ErrShape, p.Kernel, p.Padding, p.Dilation, sizes)
		}
		counts[d] = (sizes[d]+2*pad-reach)/stride + 1
	}
	if err := append(slices.Clone(layout.Shape(p.Kernel)), counts...).Check(); err != nil {
		return nil, err
	}
	return counts, nil
}

// Shape is the shape of the result of [Im2col] for images of shape x, (…, channels,
// sizes …): (…, channels · positions of a window, windows).
func (p *Windows) Shape(x layout.Shape) (layout.Shape, error) {
	lead := len(x) - len(p.Kernel) - 1
	if lead < 0 {
		return nil, fmt.Errorf("%w: windows of %v over %v, want a dimension in front", layout.ErrRank, p.Kernel, x)
	}
	counts, err := p.Counts(x[lead+1:]...)
	if err != nil {
		return nil, err
	}
	if err := slices.Concat(x[:lead+1], p.Kernel, counts).Check(); err != nil {
		return nil, err
	}
	return append(slices.Clone(x[:lead]), x[lead]*layout.Shape(p.Kernel).Count(), layout.Shape(counts).Count()), nil
}

var (
	im2col = ops.NewGeneric("im2col", kernels.Im2col[ops.T])
	col2im = ops.NewGeneric("col2im", kernels.Col2im[ops.T, ops.C])
)

// Im2col stores the windows of x in out, each as a column: see [Windows.Shape].
func Im2col(s *runtime.Stream, out, x ops.View, p Windows) error {
	const op = "im2col"
	t := ops.Carrier(x.DType)
	kernel, err := im2col.Of(ops.TypeArgs{T: t})
	if err != nil {
		return err
	}
	v, err := p.over(op, x, out)
	if err != nil {
		return err
	}
	image := slices.Concat(v.images.Strides()[:v.lead+1], v.scaled(v.images, v.Dilation), v.scaled(v.images, v.Stride))
	from, err := layout.New(v.shape, image, v.images.Offset())
	if err != nil {
		return err
	}
	v.Clip = v.Pad != [2]int{}
	v.X = v.steps(v.images, v.lead+1)
	var places [2]map[int]int
	for d := range v.axes {
		a := d + 2 - v.axes
		places[a] = map[int]int{v.lead + 1 + d: v.Dilation[a], v.lead + 1 + v.axes + d: v.Stride[a]}
	}
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, v.columns, from, ops.BroadcastAlong(v.shape, places[0]), ops.BroadcastAlong(v.shape, places[1])); !ok {
		return err
	}
	if info := ops.DeviceInfo(s.Device()); ops.TraitsOf(&info).ThreadPerElement {
		ops.OnePerThread(&w, &g, &info, v.columns.Count())
	}
	to, in := out.Header(), x.Header()
	return kernel.Launch(s, g, ops.SliceArg(t, &to), ops.SliceArg(t, &in), w, v.Windows)
}

// Col2im stores in out, images of shape (…, channels, sizes …), the sums of what the columns
// of x, as [Im2col] makes them, have for each element.
func Col2im(s *runtime.Stream, out, x ops.View, p Windows) error {
	const op = "col2im"
	c := x.DType.Compute()
	kernel, err := col2im.Of(ops.TypeArgs{T: x.DType})
	if err != nil {
		return err
	}
	v, err := p.over(op, out, x)
	if err != nil {
		return err
	}
	shape := v.images.Shape()
	if slices.Contains(v.columns.Shape(), 0) && shape.Count() > 0 {
		return fmt.Errorf("%w: %s of %v to %v", layout.ErrShape, op, x.Layout.Shape(), shape)
	}
	strides := make([]int, len(shape))
	copy(strides, v.columns.Strides()[:v.lead+1])
	from, err := layout.New(shape, strides, v.columns.Offset())
	if err != nil {
		return err
	}
	v.K, v.X = v.steps(v.columns, v.lead+1), v.steps(v.columns, v.lead+1+v.axes)
	var places [2]layout.Layout
	for a := range places {
		one := map[int]int{}
		if d := v.lead + 1 + a - 2 + v.axes; d > v.lead {
			one[d] = 1
		}
		places[a] = ops.BroadcastAlong(shape, one)
	}
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, v.images, from, places[0], places[1]); !ok {
		return err
	}
	if info := ops.DeviceInfo(s.Device()); ops.TraitsOf(&info).ThreadPerElement {
		ops.OnePerThread(&w, &g, &info, v.images.Count())
	}
	to, in := out.Header(), x.Header()
	return kernel.Launch(s, g, ops.SliceArg(x.DType, &to), ops.SliceArg(x.DType, &in), w, v.Windows, ops.Add.In(c))
}

// windows is how windows go over images.
type windows struct {
	kernels.Windows
	lead, axes int
	shape      layout.Shape // of the columns: …, channels, positions of a window, windows
	images     layout.Layout
	columns    layout.Layout // in that shape
}

// over checks that columns are those of images.
func (p *Windows) over(op string, images, columns ops.View) (v windows, err error) {
	shape, err := p.Shape(images.Layout.Shape())
	if err != nil {
		return v, err
	}
	if err := ops.SameShape(op, columns.Layout.Shape(), shape); err != nil {
		return v, err
	}
	if err := ops.SameType(op, images, columns); err != nil {
		return v, err
	}
	v = windows{axes: len(p.Kernel), lead: len(shape) - 2, images: images.Layout}
	sizes := images.Layout.Shape()[v.lead+1:]
	counts, err := p.Counts(sizes...)
	if err != nil {
		return v, err
	}
	v.Windows = kernels.Windows{In: [2]int{1, 1}, Kernel: [2]int{1, 1}, Count: [2]int{1, 1}, Dilation: [2]int{1, 1}, Stride: [2]int{1, 1}, Div: [2]core.Divisor{ops.Divisor(1), ops.Divisor(1)}}
	for d, k := range p.Kernel {
		a := d + 2 - v.axes
		v.In[a], v.Kernel[a], v.Count[a], v.Pad[a] = sizes[d], k, counts[d], axis(p.Padding, d, 0)
		v.Dilation[a], v.Stride[a] = axis(p.Dilation, d, 1), axis(p.Stride, d, 1)
		v.Div[a] = ops.Divisor(v.Stride[a])
		v.Wide = v.Wide || sizes[d]+2*v.Pad[a] > math.MaxInt32 || v.Stride[a] > math.MaxInt32
	}
	v.shape = slices.Concat(shape[:v.lead], layout.Shape{images.Layout.Shape()[v.lead]}, p.Kernel, counts)
	var ok bool
	if v.columns, ok, err = columns.Layout.Reshape(v.shape); err == nil && !ok {
		err = fmt.Errorf("%w: %s with columns in %v", layout.ErrShape, op, columns.Layout)
	}
	return v, err
}

// steps is the strides of the dimensions of both axes, from d on.
func (v *windows) steps(l layout.Layout, d int) (list [2]int) {
	copy(list[2-v.axes:], l.Strides()[d:d+v.axes])
	return list
}

// scaled is the strides of images, so many elements apart.
func (v *windows) scaled(l layout.Layout, by [2]int) (list []int) {
	for d, step := range l.Strides()[v.lead+1:] {
		list = append(list, step*by[d+2-v.axes])
	}
	return list
}
