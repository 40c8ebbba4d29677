package loss

import (
	"fmt"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/nn/loss/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// CTCOptions are those of [CTC].
type CTCOptions struct {
	Blank        int       // the class that is no label
	ZeroInfinity bool      // losses that are infinite, of targets too long, are 0
	Reduction    Reduction // [Mean] is over the items, of the loss over the number of labels
}

// CTC is the connectionist temporal classification loss (Graves et al., 2006): the negative
// logarithm of the probability of all ways in which a target can be aligned with the times. It is
// torch.nn.functional.ctc_loss.
//
// logp has logarithms of probabilities, of shape (T, N, C): of log-softmax along the last
// dimension. targets are integers of (N, S), of which each item has as many as labels says, and
// none is the blank. times says how many of the T each item has; nil is all, and nil labels are S.
// Gradients are those of logp, where PyTorch has those of logits before log-softmax; behind it
// both are the same.
func CTC(logp, targets *tensor.Tensor, times, labels []int, o CTCOptions) *tensor.Tensor {
	const op = "ctc"
	c, err := newCTC(logp, targets, times, labels, &o)
	if err != nil {
		return tensor.Fail(op, err)
	}
	table := tensor.Apply2(c, wide(logp), targets.Cast(tensor.I64))
	if table.Err() != nil {
		return table
	}
	l := table.Narrow(1, 0, 1).Squeeze(1)
	if o.ZeroInfinity {
		l = l.IsInf().Where(l.ZerosLike(), l)
	}
	if o.Reduction == Mean {
		l = l.Div(c.labels.MaximumScalar(1).Cast(l.DType()))
	}
	return o.Reduction.apply(op, l, logp.DType())
}

// ctc is the operation: its result has the losses and the forward variables.
type ctc struct {
	paths         kernels.Paths
	times, labels *tensor.Tensor // I64, for each item
}

// newCTC checks the operands.
func newCTC(logp, targets *tensor.Tensor, times, labels []int, o *CTCOptions) (*ctc, error) {
	if b := operand.Floats("ctc", logp); b != nil {
		return nil, b.Err()
	}
	switch {
	case targets == nil:
		return nil, fmt.Errorf("%w: the targets are a nil tensor", tensor.ErrArgument)
	case targets.Err() != nil:
		return nil, targets.Err()
	case targets.Device() != logp.Device():
		return nil, fmt.Errorf("%w: %s and targets on %s", tensor.ErrDevice, logp.Device(), targets.Device())
	case !targets.DType().IsInt():
		return nil, fmt.Errorf("%w: targets of %s, want integers", tensor.ErrDType, targets.DType())
	case logp.Rank() != 3 || targets.Rank() != 2:
		return nil, fmt.Errorf("%w: %v and targets of %v, want (T, N, C) and (N, S)", tensor.ErrRank, logp.Shape(), targets.Shape())
	case logp.Size(1) != targets.Size(0):
		return nil, fmt.Errorf("%w: %v and targets of %v", tensor.ErrShape, logp.Shape(), targets.Shape())
	case o.Blank < 0 || o.Blank >= logp.Size(2):
		return nil, fmt.Errorf("%w: blank %d of %d classes", tensor.ErrArgument, o.Blank, logp.Size(2))
	}
	p := kernels.Paths{Times: logp.Size(0), Batch: logp.Size(1), Classes: logp.Size(2), Labels: targets.Size(1), Blank: o.Blank}
	c := &ctc{paths: p}
	var err error
	if c.times, err = lengths(logp.Device(), "times", times, p.Batch, p.Times); err != nil {
		return nil, err
	}
	c.labels, err = lengths(logp.Device(), "labels", labels, p.Batch, p.Labels)
	return c, err
}

// lengths are n numbers up to most, as a tensor; nil is most for all.
func lengths(d *tensor.Device, what string, list []int, n, most int) (*tensor.Tensor, error) {
	data := make([]int64, n)
	if list != nil && len(list) != n {
		return nil, fmt.Errorf("%w: %d numbers of %s for %d items", tensor.ErrShape, len(list), what, n)
	}
	for i := range data {
		data[i] = int64(most)
		if list == nil {
			continue
		}
		if list[i] < 0 || list[i] > most {
			return nil, fmt.Errorf("%w: item %d has %d %s of %d", tensor.ErrRange, i, list[i], what, most)
		}
		data[i] = int64(list[i])
	}
	return tensor.From(d, data, n), nil
}

// ctcKernels are those of one type.
type ctcKernels struct{ forward, backward, slopes *jit.Kernel }

var (
	ctcSingle = ctcKernels{jit.Of(kernels.CTCForward[float32]), jit.Of(kernels.CTCBackward[float32]), jit.Of(kernels.CTCSlopes[float32])}
	ctcDouble = ctcKernels{jit.Of(kernels.CTCForward[float64]), jit.Of(kernels.CTCBackward[float64]), jit.Of(kernels.CTCSlopes[float64])}
)

func ctcOf(dt tensor.DType) *ctcKernels {
	if dt == tensor.F64 {
		return &ctcDouble
	}
	return &ctcSingle
}

// Name is for errors.
func (*ctc) Name() string { return "ctc" }

// Forward returns (N, 1 + T·states).
func (c *ctc) Forward(logp, targets *tensor.Tensor) *tensor.Tensor {
	return c.table(ctcOf(logp.DType()).forward, logp.Contiguous(), targets.Contiguous())
}

// Backward returns the gradient of logp.
func (c *ctc) Backward(g, logp, targets, out *tensor.Tensor) (dx, none *tensor.Tensor) {
	k := ctcOf(logp.DType())
	logp, targets = logp.Contiguous(), targets.Contiguous()
	beta := c.table(k.backward, logp, targets)
	dx = tensor.Empty(logp.Device(), logp.DType(), logp.Shape()...)
	grid := runtime.Cover(c.paths.Times*c.paths.Batch, columnThreads)
	return tensor.LaunchInto(dx, k.slopes, grid, logp, out.Contiguous(), beta, g.Contiguous(), targets, c.times, c.labels, c.paths), nil
}

// table runs a recursion.
func (c *ctc) table(k *jit.Kernel, logp, targets *tensor.Tensor) *tensor.Tensor {
	p := &c.paths
	states := 2*p.Labels + 1
	out := tensor.Empty(logp.Device(), logp.DType(), p.Batch, 1+p.Times*states)
	return tensor.LaunchInto(out, k, runtime.Blocks(p.Batch, rowThreads(states)), logp, targets, c.times, c.labels, *p)
}
