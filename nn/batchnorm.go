package nn

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// BatchNorm normalises each channel, which is dimension 1, over all inputs and positions (Ioffe and
// Szegedy, 2015). It is PyTorch's BatchNorm1d, 2d and 3d.
//
// In training it takes the mean and the biased variance of the batch, and moves the running ones
// towards that mean and the unbiased variance; else it takes the running ones.
type BatchNorm struct {
	Weight      *Param  // (channels), or nil
	Bias        *Param  // (channels), or nil
	RunningMean *Param  // (channels), or nil: the batch's are always taken
	RunningVar  *Param  // (channels), or nil with RunningMean
	Batches     *Param  `nn:"num_batches_tracked"` // I64, how many batches; nil for files that have it not
	Eps         float64 // 1e-5
	Momentum    float64 // the share of the batch in the running statistics, 0.1; below 0 they are means of all batches
	training    bool
}

// NewBatchNorm returns a layer of so many channels.
func NewBatchNorm(channels int) *BatchNorm {
	n := &BatchNorm{Weight: NewParam(Ones, channels), Bias: NewParam(Zeros, channels), Eps: 1e-5, Momentum: 0.1}
	n.RunningMean, n.RunningVar, n.Batches = runningStats(channels)
	return n
}

// runningStats are the buffers of running statistics.
func runningStats(channels int) (mean, variance, batches *Param) {
	count := func(d *tensor.Device, _ tensor.DType, shape tensor.Shape) *tensor.Tensor {
		return tensor.Zeros(d, tensor.I64, shape...)
	}
	return NewBuffer(Zeros, channels), NewBuffer(Ones, channels), NewBuffer(count)
}

// SetTraining says whether statistics are those of the batch.
func (n *BatchNorm) SetTraining(on bool) { n.training = on }

// Forward returns a tensor of the shape of x, (b, channels, …). Numbers of 16 bits are computed in
// float32, and rounded once. In training each channel needs more than one number.
func (n *BatchNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	const op = "batch_norm"
	if bad := channels(op, x, 2, n.Weight, n.Bias, n.RunningMean, n.RunningVar); bad != nil {
		return bad
	}
	if !n.training && n.RunningMean != nil {
		return fn.BatchNorm(x, n.RunningMean.Tensor(), n.RunningVar.Tensor(), optional(n.Weight), optional(n.Bias), n.Eps)
	}
	s := x.Shape()
	count := x.Count() / max(s[1], 1)
	if count <= 1 {
		return tensor.Fail(op, fmt.Errorf("%w: %v has %d numbers in a channel, and training needs more than one", tensor.ErrShape, s, count))
	}
	mean, variance := fn.BatchStats(x)
	if n.training && n.RunningMean != nil {
		unbiased := variance.Detach().MulScalar(float64(count) / float64(count-1))
		err := track(n.RunningMean, n.RunningVar, n.Batches, mean.Detach(), unbiased, n.Momentum)
		if err != nil {
			return tensor.Fail(op, err)
		}
	}
	return fn.BatchNorm(x, mean, variance, optional(n.Weight), optional(n.Bias), n.Eps)
}

// track moves running statistics towards those of a batch, by a share of momentum, or to the mean
// of all batches if that is below 0.
func track(mean, variance, batches *Param, newMean, newVar *tensor.Tensor, momentum float64) error {
	if batches != nil {
		if err := batches.Set(batches.Tensor().AddScalar(1)); err != nil {
			return err
		}
	}
	for _, m := range []struct {
		p   *Param
		now *tensor.Tensor
	}{{mean, newMean}, {variance, newVar}} {
		old := m.p.Tensor()
		wide, next := widened(old), widened(m.now)
		step := next.Sub(wide)
		switch {
		case momentum >= 0:
			step = step.MulScalar(momentum)
		case batches == nil:
			return fmt.Errorf("%w: means of all batches need the number of batches", tensor.ErrArgument)
		default:
			step = step.Div(narrowed(batches.Tensor(), wide))
		}
		if err := m.p.Set(narrowed(wide.Add(step), old)); err != nil {
			return err
		}
	}
	return nil
}

// Absorb makes the normalisation that follows the convolution in inference a part of its weight and
// bias, so that the layer of it can be left out. The two parameters get memory of their own.
func (c *Conv) Absorb(n *BatchNorm) error {
	if n.RunningMean == nil {
		return fmt.Errorf("nn: absorb: %w: the normalisation has no running statistics", tensor.ErrArgument)
	}
	w := c.Weight.Tensor().Detach()
	mean, variance := widened(n.RunningMean.Tensor()), widened(n.RunningVar.Tensor())
	if bad := channels("absorb", w.Transpose(0, 1), 2, n.RunningMean); bad != nil {
		return bad.Err()
	}
	scale := variance.AddScalar(n.Eps).Rsqrt()
	if n.Weight != nil {
		scale = scale.Mul(widened(n.Weight.Tensor().Detach()))
	}
	shift := mean.Neg()
	if c.Bias != nil {
		shift = shift.Add(widened(c.Bias.Tensor().Detach()))
	}
	shift = shift.Mul(scale)
	if n.Bias != nil {
		shift = shift.Add(widened(n.Bias.Tensor().Detach()))
	}
	ones := slices.Repeat([]int{1}, max(w.Rank()-1, 0))
	weight := ParamOf(narrowed(widened(w).Mul(scale.Reshape(append([]int{-1}, ones...)...)), w))
	bias := ParamOf(narrowed(shift, w))
	for _, p := range []*Param{weight, bias} {
		if err := p.Tensor().Err(); err != nil {
			return fmt.Errorf("nn: absorb: %w", err)
		}
	}
	c.Weight, c.Bias = weight, bias
	return nil
}
