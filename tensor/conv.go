package tensor

import (
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/scatter"
)

// Convolution says how a kernel moves over an input: stride, padding, dilation and groups.
type Convolution = conv.Convolution

// Conv is the convolution of t, of shape (inputs, channels, …), with weights of shape
// (channels of the result, channels of a group, kernel …), over one to three dimensions.
// Each of them has the size (n + 2·padding - dilation·(kernel-1) - 1)/stride + 1 in the result.
func (t *Tensor) Conv(weights *Tensor, c Convolution) *Tensor {
	const op = "conv"
	if bad := first(op, t, weights); bad != nil {
		return bad
	}
	shape, err := c.Shape(t.layout.Shape(), weights.layout.Shape())
	if err == nil {
		err = same(t, weights)
	}
	if err != nil {
		return failed(op, err)
	}
	c.Precision = max(c.Precision, t.dev.MatMulPrecision())
	out := t.produce(op, shape, func(out ops.View) error { return conv.Conv(t.dev.stream, out, t.view(), weights.view(), c) })
	return out.from(op, grad2(func(g, x, w, out *Tensor) (*Tensor, *Tensor) {
		return g.ConvTranspose(w, transposedOf(c, g, x, w)), weightGradient(x, g, w, c)
	}), t, weights)
}

// ConvBias is [Tensor.Conv] plus a number for each channel of the result, which bias has, rounded
// after each. A nil bias is none.
func (t *Tensor) ConvBias(weights, bias *Tensor, c Convolution) *Tensor {
	return t.Conv(weights, c).biased("conv", bias)
}

// ConvTransposeBias is [Tensor.ConvTranspose] plus a number for each channel of the result: see
// [Tensor.ConvBias].
func (t *Tensor) ConvTransposeBias(weights, bias *Tensor, c Convolution) *Tensor {
	return t.ConvTranspose(weights, c).biased("conv_transpose", bias)
}

// biased is the result t of a convolution plus a number for each channel.
func (t *Tensor) biased(op string, bias *Tensor) *Tensor {
	if bias == nil || t.err != nil {
		return t
	}
	if bad := first(op, t, bias); bad != nil {
		return bad
	}
	if bias.Rank() != 1 || bias.Count() != t.Size(1) {
		return failf(op, ErrShape, "a bias of %v for the channels of %v", bias.layout.Shape(), t.layout.Shape())
	}
	channels := slices.Repeat(Shape{1}, t.Rank()-1)
	channels[0] = bias.Count()
	return t.Add(bias.Reshape(channels...))
}

// ConvTranspose is the transposed convolution of t, of shape (inputs, channels, …), with
// weights of shape (channels, channels of a group of the result, kernel …): what a
// gradient goes back through a convolution by. Each dimension of the result has the size
// (n-1)·stride - 2·padding + dilation·(kernel-1) + output padding + 1.
func (t *Tensor) ConvTranspose(weights *Tensor, c Convolution) *Tensor {
	const op = "conv_transpose"
	if bad := first(op, t, weights); bad != nil {
		return bad
	}
	shape, err := c.TransposedShape(t.layout.Shape(), weights.layout.Shape())
	if err == nil {
		err = same(t, weights)
	}
	if err != nil {
		return failed(op, err)
	}
	c.Precision = max(c.Precision, t.dev.MatMulPrecision())
	out := t.produce(op, shape, func(out ops.View) error {
		return conv.ConvTranspose(t.dev.stream, out, t.view(), weights.view(), c)
	})
	return out.from(op, grad2(func(g, x, w, out *Tensor) (*Tensor, *Tensor) {
		forth := c
		forth.OutputPadding = nil
		dx := g.Conv(w, forth)
		for d := 2; d < x.Rank() && dx.err == nil; d++ {
			dx = dx.Narrow(d, 0, x.Size(d)) // output padding may have made room for more
		}
		return dx, weightGradient(g, x, w, forth)
	}), t, weights)
}

// axis returns number d of a list, or the usual one of an empty list.
func axis(list []int, d, usual int) int {
	if len(list) == 0 {
		return usual
	}
	return list[d]
}

// transposedOf is the transposed convolution from the gradient g of the result to that of x.
func transposedOf(c Convolution, g, x, w *Tensor) Convolution {
	c.OutputPadding = make([]int, x.Rank()-2)
	for d := range c.OutputPadding {
		n := (g.Size(d+2)-1)*axis(c.Stride, d, 1) - 2*axis(c.Padding, d, 0) + axis(c.Dilation, d, 1)*(w.Size(d+2)-1) + 1
		c.OutputPadding[d] = x.Size(d+2) - n
	}
	return c
}

// weightGradient is the gradient for the weights w of the convolution c of x whose result
// has the gradient g.
func weightGradient(x, g, w *Tensor, c Convolution) *Tensor {
	const op = "weight_gradient"
	if bad := first(op, x, g); bad != nil {
		return bad
	}
	c.OutputPadding, c.Strategy = nil, ""
	out := x.produce(op, w.layout.Shape(), func(out ops.View) error { return conv.WeightGradient(x.dev.stream, out, x.view(), g.view(), c) })
	return out.from(op, grad2(func(d, x, g, out *Tensor) (*Tensor, *Tensor) {
		dg := x.Conv(d, c)
		for i := 2; i < g.Rank() && dg.err == nil; i++ {
			dg = dg.Narrow(i, 0, g.Size(i))
		}
		return g.ConvTranspose(d, transposedOf(c, g, x, d)), dg
	}), x, g)
}

// Pooling says how a window moves over the last dimensions of an input.
type Pooling = conv.Pooling

// MaxPool is the largest elements of windows over the last one or two dimensions, NaN
// where there is one. Of several that are largest the first has the gradient.
func (t *Tensor) MaxPool(p Pooling) *Tensor {
	const op = "max_pool"
	if bad := first(op, t); bad != nil {
		return bad
	}
	shape, err := p.Shape(t.layout.Shape())
	if err != nil {
		return failed(op, err)
	}
	out, _ := t.mostOf(op, shape, len(p.Kernel), t.RequiresGrad(), mostBy(t, p))
	return out
}

// MaxPoolWithIndices is [Tensor.MaxPool], and where the elements are that it took: counted
// in row-major order of the last dimensions of t, as many as the kernel has, of type I64.
func (t *Tensor) MaxPoolWithIndices(p Pooling) (values, places *Tensor) {
	const op = "max_pool"
	if bad := first(op, t); bad != nil {
		return bad, bad
	}
	shape, err := p.Shape(t.layout.Shape())
	if err != nil {
		bad := failed(op, err)
		return bad, bad
	}
	return t.mostOf(op, shape, len(p.Kernel), true, mostBy(t, p))
}

// mostBy runs the pooling of t.
func mostBy(t *Tensor, p Pooling) func(out, which ops.View) error {
	return func(out, which ops.View) error { return conv.MaxPool(t.dev.stream, out, which, t.view(), p) }
}

// mostOf is the largest elements of windows over the last n dimensions, in a shape, and
// where they are, if that is wanted.
func (t *Tensor) mostOf(op string, shape Shape, n int, places bool, run func(out, which ops.View) error) (out, which *Tensor) {
	which = &Tensor{}
	if places {
		var err error
		if which, err = empty(t.dev, I64, shape); err != nil {
			bad := failed(op, err)
			return bad, bad
		}
	}
	out = t.produce(op, shape, func(out ops.View) error { return run(out, which.view()) })
	if out.err != nil {
		return out, out
	}
	own := which.kept()
	return out.from(op, grad1(func(g, x, out *Tensor) *Tensor { return gradMaxPool(g, x, own, n) }), t).saves(own), which.without(t)
}

// gradMaxPool adds gradients where the largest elements of the windows are: which counts
// them in the last n dimensions of x.
func gradMaxPool(g, x, which *Tensor, n int) *Tensor {
	lead := x.Rank() - n
	flat := joined(g.layout.Shape(), lead)
	return x.ZerosLike().Reshape(joined(x.layout.Shape(), lead)...).ScatterAdd(which.Reshape(flat...), g.Reshape(flat...), lead).Reshape(x.Shape()...)
}

// joined is a shape with one dimension of those from lead on.
func joined(s Shape, lead int) Shape { return append(slices.Clone(s[:lead]), s[lead:].Count()) }

// MaxUnpool stores the elements of t at their indices, as [Tensor.MaxPoolWithIndices] returns
// both, in dimensions of such sizes, and 0 everywhere else. Of several elements with one
// index, which are equal after pooling, the last one is stored. An index out of
// range is an error when the device is next waited for.
func (t *Tensor) MaxUnpool(places *Tensor, sizes ...int) *Tensor {
	const op = "max_unpool"
	if bad := indices(op, places, t); bad != nil {
		return bad
	}
	lead := t.Rank() - len(sizes)
	if lead < 0 || len(sizes) == 0 {
		return failf(op, ErrRank, "%d sizes for %v", len(sizes), t.layout.Shape())
	}
	if !places.layout.Shape().Equal(t.layout.Shape()) {
		return failf(op, ErrShape, "indices of shape %v for values of %v", places.layout.Shape(), t.layout.Shape())
	}
	shape := append(t.Shape()[:lead], sizes...)
	if err := shape.Check(); err != nil {
		return failed(op, err)
	}
	rows := joined(t.layout.Shape(), lead)
	ids, src := places.kept().Reshape(rows...), t.Reshape(rows...)
	return Zeros(t.dev, t.dtype, joined(shape, lead)...).scoped(t, places).scatter(op, ids, src, lead, func(out ops.View) error {
		return scatter.MaxUnpool(t.dev.stream, out, ids.view(), src.view(), lead)
	}, gradScatter(ids, lead)).Reshape(shape...)
}

// AvgPool is the means of windows over the last one or two dimensions.
func (t *Tensor) AvgPool(p Pooling) *Tensor {
	const op = "avg_pool"
	if bad := first(op, t); bad != nil {
		return bad
	}
	shape, err := p.Shape(t.layout.Shape())
	if err != nil {
		return failed(op, err)
	}
	out := t.produce(op, shape, func(out ops.View) error { return conv.AvgPool(t.dev.stream, out, t.view(), p) })
	return out.from(op, grad1(func(g, x, out *Tensor) *Tensor { return gradAvgPool(g, x, p) }), t)
}

// gradAvgPool spreads gradients over the windows: a transposed convolution with ones.
func gradAvgPool(g, x *Tensor, p Pooling) *Tensor {
	lead := x.Rank() - len(p.Kernel)
	switch area := Shape(p.Kernel).Count(); {
	case p.Inside: // how much of each window is inside
		whole := p
		whole.Inside, whole.Ceil = false, false
		counts := x.OnesLike()
		if p.Ceil { // the padding counts nowhere, wherever it ends
			for d, k := range p.Kernel {
				counts = counts.Pad(lead+d, 0, axis(p.Dilation, d, 1)*k, PadConstant, 0)
			}
		}
		counts = counts.AvgPool(whole)
		for d := lead; d < x.Rank() && counts.err == nil; d++ {
			counts = counts.Narrow(d, 0, g.Size(d))
		}
		g = g.DivScalar(float64(area)).Div(counts)
	case p.Ceil:
		g = g.Div(counted(p, x, g))
	default:
		g = g.DivScalar(float64(area))
	}
	stride := p.Stride
	if len(stride) == 0 {
		stride = p.Kernel
	}
	c := Convolution{Stride: stride, Padding: p.Padding, Dilation: p.Dilation}
	planes := func(t *Tensor) *Tensor {
		return t.Reshape(append([]int{t.layout.Shape()[:lead].Count(), 1}, t.layout.Shape()[lead:]...)...)
	}
	if g.err != nil {
		return g
	}
	gp, xp := planes(g), planes(x)
	w := Ones(x.dev, x.dtype, append([]int{1, 1}, p.Kernel...)...).scoped(g, x)
	c = transposedOf(c, gp, xp, w)
	for d, n := range c.OutputPadding {
		c.OutputPadding[d] = max(n, 0) // a last window may reach over the end
	}
	dx := gp.ConvTranspose(w, c)
	for d := 2; d < xp.Rank() && dx.err == nil; d++ {
		dx = dx.Narrow(d, 0, xp.Size(d))
	}
	return dx.Reshape(x.Shape()...)
}

// counted is how many positions of each window are not beyond the padding of x, in the last
// dimensions of the gradient g of a mean.
func counted(p Pooling, x, g *Tensor) *Tensor {
	lead := x.Rank() - len(p.Kernel)
	all := Ones(x.dev, x.dtype).scoped(x, g)
	for d, k := range p.Kernel {
		n, end := g.Size(lead+d), x.Size(lead+d)+axis(p.Padding, d, 0)
		list := make([]float64, n)
		for i := range list {
			from, by := i*axis(p.Stride, d, k)-axis(p.Padding, d, 0), axis(p.Dilation, d, 1)
			list[i] = float64(min(k, (end-from+by-1)/by))
		}
		one := slices.Repeat(Shape{1}, len(p.Kernel))
		one[d] = n
		all = all.Mul(matrixLike(x, list, n, 1).Reshape(one...))
	}
	return all
}

// UpsampleNearest gives the last one or two dimensions other sizes: index i of n is index
// ⌊i·m/n⌋ of the m that were there.
func (t *Tensor) UpsampleNearest(sizes ...int) *Tensor {
	const op = "upsample_nearest"
	if bad := first(op, t); bad != nil {
		return bad
	}
	lead := t.Rank() - len(sizes)
	if lead < 0 || len(sizes) == 0 {
		return failf(op, ErrRank, "%d sizes for %v", len(sizes), t.layout.Shape())
	}
	shape := append(t.Shape()[:lead], sizes...)
	if err := shape.Check(); err != nil {
		return failed(op, err)
	}
	out := t.produce(op, shape, func(out ops.View) error { return conv.UpsampleNearest(t.dev.stream, out, t.view(), len(sizes)) })
	return out.from(op, grad1(func(g, x, out *Tensor) *Tensor {
		g = g.Cast(sumType(x.dtype)) // over several dimensions
		for d := lead; d < x.Rank(); d++ {
			m, n := x.Size(d), out.Size(d)
			ids := make([]int64, n)
			for i := range ids {
				ids[i] = int64(i * m / n)
			}
			s := g.Shape()
			s[d] = m
			g = Zeros(g.dev, g.dtype, s...).scoped(g).IndexAdd(From(g.dev, ids).scoped(g), g, d)
		}
		return g.Cast(x.dtype)
	}), t)
}

// matrixLike is a matrix of n rows of m numbers, in the type and on the device of x.
func matrixLike(x *Tensor, w []float64, n, m int) *Tensor {
	var bytes []byte
	for _, v := range w {
		bytes = dtype.FromFloat(x.dtype, v).Append(bytes)
	}
	return FromBytes(x.dev, x.dtype, bytes, n, m).scoped(x)
}
