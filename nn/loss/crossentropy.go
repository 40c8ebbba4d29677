package loss

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/loss/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// CrossEntropyOptions are those of [CrossEntropy].
type CrossEntropyOptions struct {
	ClassOptions
	// LabelSmoothing from 0 to 1 is the part of the target that is spread over all classes (Szegedy
	// et al., "Rethinking the Inception architecture for computer vision", 2016).
	LabelSmoothing float64
}

// CrossEntropy is the cross-entropy of the softmax of logits, of shape (N, C, …) or (C), and a
// target: integers of shape (N, …) or (), or probabilities of the shape and the type of the
// logits, which may have a gradient. It is torch.nn.functional.cross_entropy.
//
// With integers no probabilities are stored: the logarithm of the sum of exponentials of each row
// is, in the type that is computed in, and the gradient makes the softmax of it.
func CrossEntropy(logits, target *tensor.Tensor, o CrossEntropyOptions) *tensor.Tensor {
	const op = "cross_entropy"
	if !(o.LabelSmoothing >= 0 && o.LabelSmoothing <= 1) {
		return tensor.Fail(op, fmt.Errorf("%w: label smoothing of %v, want 0 to 1", tensor.ErrArgument, o.LabelSmoothing))
	}
	if target != nil && target.Err() == nil && target.DType().IsFloat() {
		return soft(op, logits, target, &o)
	}
	c, b := newClasses(op, logits, target, &o.ClassOptions)
	if b != nil {
		return b
	}
	stats := tensor.Apply2(rowStats{c.weight, c.dim, o.LabelSmoothing > 0}, logits, c.ids.Reshape(c.ids.Count()))
	rows := c.losses(stats, c.ids, o.LabelSmoothing)
	return c.reduce(rows, c.weights(rows.DType(), c.ids), logits.DType())
}

// losses returns the weighted losses of rows, of what [rowStats] gives of them.
func (c *classes) losses(stats, ids *tensor.Tensor, smoothing float64) *tensor.Tensor {
	if stats.Err() != nil {
		return stats
	}
	w := c.weights(stats.DType(), ids)
	lse, picked := stats.Get(0).Reshape(w.Shape()...), stats.Get(1).Reshape(w.Shape()...)
	rows := lse.Sub(picked).Mul(w)
	if smoothing > 0 {
		spread := lse.Mul(c.allWeights(w)).Sub(stats.Get(2).Reshape(w.Shape()...))
		rows = rows.MulScalar(1 - smoothing).Add(spread.MulScalar(smoothing / float64(c.n)))
	}
	return rows
}

// allWeights is the sum of the weights of all classes, like a tensor.
func (c *classes) allWeights(like *tensor.Tensor) *tensor.Tensor {
	if c.weight != nil {
		return c.weight.Sum()
	}
	return like.FullLike(float64(c.n))
}

// soft is the cross-entropy of probabilities.
func soft(op string, logits, target *tensor.Tensor, o *CrossEntropyOptions) *tensor.Tensor {
	c, b := newClassDim(op, logits, &o.ClassOptions)
	if b == nil {
		b = alike(op, logits, target)
	}
	if b != nil {
		return b
	}
	p := wide(target)
	if e := o.LabelSmoothing; e > 0 {
		p = p.Affine(1-e, e/float64(c.n))
	}
	if c.weight != nil {
		shape := make([]int, logits.Rank())
		for d := range shape {
			shape[d] = 1
		}
		shape[c.dim] = c.n
		p = p.Mul(c.weight.Reshape(shape...))
	}
	rows := wide(logits).LogSoftmax(c.dim).Mul(p).Sum(c.dim).Neg()
	return o.Reduction.apply(op, rows, logits.DType())
}

// rowStats is the operation of kernels.RowStats, of logits and one target for each row.
type rowStats struct {
	weight *tensor.Tensor // of classes, in the type that is computed in, or nil
	dim    int
	smooth bool
}

var (
	statsKernel  = ops.NewGeneric("cross_entropy", kernels.RowStats[ops.T, ops.C])
	colStats     = ops.NewGeneric("cross_entropy", kernels.ColumnStats[ops.T, ops.C])
	slopesKernel = ops.NewGeneric("cross_entropy", kernels.RowSlopes[ops.T, ops.C])
	colSlopes    = ops.NewGeneric("cross_entropy", kernels.ColumnSlopes[ops.T, ops.C])
)

// Name is for errors.
func (rowStats) Name() string { return "cross_entropy" }

// Forward returns (3, rows), or (2, rows) without smoothing.
func (s rowStats) Forward(x, ids *tensor.Tensor) *tensor.Tensor {
	r := s.rows(x)
	out := tensor.Empty(x.Device(), x.DType().Compute(), s.count(), r.Count)
	return s.launch(statsKernel, colStats, x.DType(), r, out, x.Contiguous(), ids.Contiguous())
}

// count is how many numbers Forward returns for a row.
func (s rowStats) count() int {
	if s.smooth {
		return 3
	}
	return 2
}

// Backward returns the gradient of the logits, one pass over them.
func (s rowStats) Backward(g, x, ids, out *tensor.Tensor) (dx, none *tensor.Tensor) {
	dx = x.EmptyLike() // in its scope
	dx = s.launch(slopesKernel, colSlopes, x.DType(), s.rows(x), dx, x.Contiguous(), ids.Contiguous(), out.Contiguous(), g.Contiguous())
	return dx, nil
}

// rows says where the rows of contiguous logits lie.
func (s rowStats) rows(x *tensor.Tensor) kernels.Rows {
	shape := x.Shape()
	r := kernels.Rows{Classes: shape[s.dim], Inner: shape[s.dim+1:].Count()}
	r.Count = shape[:s.dim].Count() * r.Inner
	return r
}

// columnThreads is how many rows a block has whose threads have one each.
const columnThreads = 128

// launch runs the kernel for rows that are contiguous, or that for rows that are not. Neither runs
// for no rows.
func (s rowStats) launch(byRow, byColumn *ops.Generic, dt tensor.DType, r kernels.Rows, out *tensor.Tensor, args ...any) *tensor.Tensor {
	generic, grid := byRow, runtime.Blocks(r.Count, rowThreads(r.Classes))
	if r.Inner > 1 {
		generic, grid = byColumn, runtime.Cover(r.Count, columnThreads)
	}
	k, err := generic.Of(ops.TypeArgs{T: dt})
	if err != nil {
		return tensor.Fail("cross_entropy", err)
	}
	weight := s.weight
	if weight == nil {
		weight = tensor.Empty(out.Device(), dt.Compute(), 0)
	}
	args = append(args, weight.Contiguous(), r, dsl.ConstBool(s.smooth), dsl.ConstBool(s.weight != nil))
	return tensor.LaunchInto(out, k, grid, args...)
}

// rowThreads is how many threads reduce a row: a power of two, with a few elements each.
func rowThreads(classes int) int {
	n := 32
	for n < 512 && n*8 < classes {
		n *= 2
	}
	return n
}
