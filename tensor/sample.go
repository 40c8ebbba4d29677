package tensor

import (
	"fmt"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv"
	"github.com/gokiln/kiln/ops/dtype"
)

// Sampling says how [Tensor.GridSample] reads images.
type Sampling = conv.Sampling

// SampleMode is how [Tensor.GridSample] interpolates at a position between elements.
type SampleMode = conv.SampleMode

// The modes of [Tensor.GridSample].
const (
	SampleBilinear = conv.SampleBilinear // the mean of the four elements around it, weighted by how near they are
	SampleNearest  = conv.SampleNearest  // the nearest element, of two the even one
	SampleBicubic  = conv.SampleBicubic  // a sum of the sixteen elements around it, by cubic convolution with the parameter -3/4
)

// GridSample reads images, (n, channels, height, width), at the positions of a grid, (n, rows,
// columns, 2): the result is (n, channels, rows, columns). A position is x and then
// y, both from -1 at the one edge to 1 at the other; NaN is -1. It may lie outside, where the
// padding of p counts: zeros with [PadConstant], the element at the edge with [PadEdge], and with
// [PadReflect] what is inside, mirrored.
//
//	shifted := x.GridSample(grid.AddScalar(0.1), tensor.Sampling{Padding: tensor.PadEdge})
//
// It is for floating-point types; the grid has that of t, or the one that numbers of t are
// computed in. Gradients go to the images and to the grid: of [SampleNearest] that of the grid is
// 0. It is PyTorch's grid_sample of four dimensions.
func (t *Tensor) GridSample(grid *Tensor, p Sampling) *Tensor {
	const op = "grid_sample"
	if bad := first(op, t, grid); bad != nil {
		return bad
	}
	if !t.dtype.IsFloat() {
		return failf(op, ErrDType, "%s: it is for floating-point types", t.dtype)
	}
	if grid.dtype == t.dtype.Compute() && grid.dtype != t.dtype {
		if grid.dev != t.dev {
			return failed(op, fmt.Errorf("%w: %s and %s: To brings a tensor to another device", ErrDevice, t.dev, grid.dev))
		}
	} else if err := same(t, grid); err != nil {
		return failed(op, err)
	}
	if err := p.Check(); err != nil {
		return failed(op, fmt.Errorf("%w: %w", ErrArgument, err))
	}
	if t.Rank() != 4 || grid.Rank() != 4 {
		return failf(op, ErrRank, "%v at %v: want 4 dimensions of both", t.layout.Shape(), grid.layout.Shape())
	}
	grid = grid.Cast(t.dtype.Compute())
	if grid.err != nil {
		return grid
	}
	shape := Shape{t.Size(0), t.Size(1), grid.Size(1), grid.Size(2)}
	out := t.produce(op, shape, func(out ops.View) error { return conv.Sample(t.dev.stream, out, t.view(), grid.view(), p) })
	formula := func(in ...*Tensor) *Tensor { return sampled(in[0], in[1], p) }
	return out.from(op, again(op, formula, []*Tensor{t, grid}, nil, nil), t, grid)
}

// sampled is [Tensor.GridSample] by operations that have gradients.
func sampled(x, grid *Tensor, p Sampling) *Tensor {
	n, channels, rows, cols := x.Size(0), x.Size(1), grid.Size(1), grid.Size(2)
	if x.Count() == 0 || grid.Count() == 0 {
		return Zeros(x.dev, x.dtype, n, channels, rows, cols).scoped(x, grid).Add(x.Sum().Add(grid.Sum().Cast(x.dtype)).MulScalar(0))
	}
	across, down := taps(grid.GetOn(3, 0), x.Size(3), p), taps(grid.GetOn(3, 1), x.Size(2), p)
	images := x.Reshape(n, channels, 1, x.Size(2)*x.Size(3)).BroadcastTo(n, channels, rows, x.Size(2)*x.Size(3))
	none := Full(x.dev, dtype.FromInt(I64, -1)).scoped(x, grid)
	var sum *Tensor
	for _, d := range down {
		for _, a := range across {
			at := d.at.MulScalar(float64(x.Size(3))).Add(a.at)
			at = d.inside.LogicalAnd(a.inside).Where(at, none)
			part := images.Gather(at.Unsqueeze(1).BroadcastTo(n, channels, rows, cols), 3).Cast(grid.dtype).Mul(d.weight.Mul(a.weight).Unsqueeze(1))
			if sum != nil {
				part = sum.Add(part)
			}
			sum = part
		}
	}
	return sum.Cast(x.dtype)
}

// tap is elements along an axis that contribute to positions, and their weights.
type tap struct{ at, inside, weight *Tensor }

// taps are those of the positions g among n elements.
func taps(g *Tensor, n int, p Sampling) (list []tap) {
	const far = 1 << 22
	g = g.IsNaN().Where(g.FullLike(-1), g).Clamp(-far, far)
	v := g.AddScalar(1).MulScalar(float64(n) / 2).SubScalar(0.5)
	if p.AlignCorners {
		v = g.AddScalar(1).MulScalar(float64(n-1) / 2)
	}
	v = v.Clamp(-far, far)
	if p.Mode != SampleBicubic {
		v = bounded(v, n, p)
	}
	low := v.Detach().Floor()
	part := v.Sub(low)
	weights := []*Tensor{part.SubFrom(1), part}
	switch p.Mode {
	case SampleNearest:
		low = v.Detach().RoundEven()
		weights = []*Tensor{part.OnesLike()}
	case SampleBicubic:
		low = low.SubScalar(1)
		weights = cubicTaps(part)
	}
	for k, w := range weights {
		at := low.AddScalar(float64(k))
		if p.Mode == SampleBicubic {
			at = bounded(at, n, p)
		}
		list = append(list, tap{at.Cast(I64), at.GeScalar(0).LogicalAnd(at.LtScalar(float64(n))), w})
	}
	return list
}

// bounded is the positions v among n elements, those outside mapped to ones inside.
func bounded(v *Tensor, n int, p Sampling) *Tensor {
	switch p.Padding {
	case PadEdge:
		return v.Clamp(0, float64(n-1))
	case PadReflect:
		low, span := -0.5, float64(n)
		if p.AlignCorners {
			low, span = 0, float64(n-1)
		}
		if span == 0 {
			return v.MulScalar(0)
		}
		far := v.SubScalar(low).Abs()
		far = far.Mod(far.FullLike(2 * span))
		back := far.Detach().GtScalar(span).Where(far.SubFrom(2*span), far)
		return back.AddScalar(low).Clamp(0, float64(n-1))
	}
	return v
}

// cubicTaps is the weights of the four elements around a position, a fraction behind the
// second one.
func cubicTaps(part *Tensor) []*Tensor {
	const a = -0.75
	outer := func(far, near *Tensor) *Tensor { return far.Mul(near.Sqr()).MulScalar(a) }
	inner := func(x *Tensor) *Tensor { return x.Sqr().Mul(x.Affine(a+2, -a-3)).AddScalar(1) }
	near := part.SubFrom(1)
	return []*Tensor{outer(part, near), inner(part), inner(near), outer(near, part)}
}
