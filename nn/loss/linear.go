package loss

import (
	"fmt"

	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/tensor"
)

// maxLogits is how many logits [LinearCrossEntropy] has in memory at once, about: a part of half a
// gigabyte in 16 bits. Each part adds a gradient of the weight to the sum of those before it, which is
// as much memory as the weight and has to be little beside the products of the part.
var maxLogits = 1 << 28

// LinearCrossEntropy is [CrossEntropy] of the logits of a last layer, x·weightᵀ + bias: of x
// (…, in), weight (classes, in), bias (classes) or nil, and a target of integers of shape (…). The
// logits of all rows are never in memory at once where there are many, as with the vocabulary of a
// language model: rows are computed part by part, and gradients compute the logits of each part
// again.
//
//	l := loss.LinearCrossEntropy(hidden, embed.Weight.Tensor(), nil, next, loss.CrossEntropyOptions{})
func LinearCrossEntropy(x, weight, bias, target *tensor.Tensor, o CrossEntropyOptions) *tensor.Tensor {
	const op = "linear_cross_entropy"
	in := []*tensor.Tensor{x, weight}
	if bias != nil {
		in = append(in, bias)
	}
	if b := operand.Floats(op, in...); b != nil {
		return b
	}
	if x.Rank() == 0 || weight.Rank() != 2 || weight.Size(1) != x.Size(-1) || bias != nil && !bias.Shape().Equal(tensor.Shape{weight.Size(0)}) {
		text := fmt.Sprintf("%v and a weight of %v", x.Shape(), weight.Shape())
		if bias != nil {
			text += fmt.Sprintf(" with a bias of %v", bias.Shape())
		}
		return tensor.Fail(op, fmt.Errorf("%w: %s, want (…, in), (classes, in) and (classes)", tensor.ErrShape, text))
	}
	if !(o.LabelSmoothing >= 0 && o.LabelSmoothing <= 1) {
		return tensor.Fail(op, fmt.Errorf("%w: label smoothing of %v, want 0 to 1", tensor.ErrArgument, o.LabelSmoothing))
	}
	o.ClassLast = true
	shape := append(x.Shape()[:x.Rank()-1:x.Rank()-1], weight.Size(0))
	like := tensor.Zeros(x.Device(), x.DType(), 1).BroadcastTo(shape...) // for its shape: one number
	c, b := newClasses(op, like, target, &o.ClassOptions)
	if b != nil {
		return b
	}
	width, n := x.Size(-1), c.ids.Count()
	in[0] = x.Reshape(n, width)
	l := &lastLayer{rowStats{c.weight, 1, o.LabelSmoothing > 0}, c.n, c.ids.Reshape(n)}
	rows := c.losses(tensor.ApplyN(l, in...), c.ids, o.LabelSmoothing)
	return c.reduce(rows, c.weights(rows.DType(), c.ids), x.DType())
}

// lastLayer is [rowStats] of the logits of x (n, in), of a weight and maybe a bias.
type lastLayer struct {
	rowStats
	classes int
	ids     *tensor.Tensor // (n)
}

// Name is for errors.
func (*lastLayer) Name() string { return "linear_cross_entropy" }

// logits returns those of some rows.
func (l *lastLayer) logits(in []*tensor.Tensor) *tensor.Tensor {
	var bias *tensor.Tensor
	if len(in) > 2 {
		bias = in[2]
	}
	return in[0].Linear(in[1], bias)
}

// Forward returns what the losses of rows are made of, (2, n) or (3, n), in the type that is computed
// in.
func (l *lastLayer) Forward(in ...*tensor.Tensor) *tensor.Tensor {
	out := tensor.Empty(in[0].Device(), in[0].DType().Compute(), l.count(), in[0].Size(0))
	err := l.each(in, func(in []*tensor.Tensor, ids *tensor.Tensor, at int) error {
		return out.SliceSet(l.rowStats.Forward(l.logits(in), ids), 1, at)
	})
	if err != nil {
		return tensor.Fail(l.Name(), err)
	}
	return out
}

// each calls f for the parts of the rows, with their operands, their targets and where they begin.
// What f computes of these is freed behind it.
func (l *lastLayer) each(in []*tensor.Tensor, f func(in []*tensor.Tensor, ids *tensor.Tensor, at int) error) error {
	all, some := in[0].Size(0), max(maxLogits/max(l.classes, 1), 1)
	if parts := (all + some - 1) / some; parts > 1 {
		some = min(some, ops.RoundUp((all+parts-1)/parts, 128)) // about as many rows each
	}
	for at := 0; at < all; at += some {
		n := min(some, all-at)
		s := tensor.OpenScope()
		part := make([]*tensor.Tensor, len(in))
		for i, t := range in {
			part[i] = t.In(s)
		}
		part[0] = part[0].Narrow(0, at, n)
		err := f(part, l.ids.In(s).Narrow(0, at, n), at)
		if e := s.Close(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Backward returns the gradients of x, the weight and the bias, whose sums over the parts are in the
// type that is computed in.
func (l *lastLayer) Backward(g *tensor.Tensor, in []*tensor.Tensor, out *tensor.Tensor) []*tensor.Tensor {
	g, out = g.Detach(), out.Detach()
	list, sums := make([]*tensor.Tensor, len(in)), make([]*tensor.Tensor, len(in))
	for i, t := range in {
		list[i] = t.Detach()
		if sums[i] = list[i].ZerosLike(); i > 0 {
			sums[i] = sums[i].Cast(t.DType().Compute())
		}
	}
	err := l.each(list, func(in []*tensor.Tensor, ids *tensor.Tensor, at int) error {
		n := in[0].Size(0)
		d, _ := l.rowStats.Backward(g.Narrow(1, at, n), l.logits(in), ids, out.Narrow(1, at, n))
		if err := sums[0].SliceSet(d.MatMul(in[1]), 0, at); err != nil {
			return err
		}
		if err := sums[1].Assign(d.T().MatMulAs(in[0], sums[1].DType()).Add(sums[1])); err != nil || len(in) < 3 {
			return err
		}
		return sums[2].Assign(d.SumAs(sums[2].DType(), 0).Add(sums[2]))
	})
	for i, t := range in {
		if sums[i] = sums[i].Cast(t.DType()); err != nil {
			sums[i] = tensor.Fail(l.Name(), err)
		}
	}
	return sums
}
