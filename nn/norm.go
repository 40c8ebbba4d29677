package nn

import (
	"cmp"
	"fmt"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// LayerNorm takes the mean from the last dimensions and divides by their standard deviation:
// y = (x − mean)/√(variance + eps)·weight + bias (Ba, Kiros and Hinton, 2016).
type LayerNorm struct {
	Weight *Param       // of Shape, or nil
	Bias   *Param       // of Shape, or nil
	Shape  tensor.Shape // the dimensions that are normalised together
	Eps    float64
}

// NewLayerNorm returns a layer over the last dimensions, whose sizes are given. Weights begin as 1,
// biases as 0, and eps is 1e-5.
func NewLayerNorm(shape ...int) *LayerNorm {
	return &LayerNorm{Weight: NewParam(Ones, shape...), Bias: NewParam(Zeros, shape...), Shape: shape, Eps: 1e-5}
}

// NewLayerNormNoBias is [NewLayerNorm] without a bias.
func NewLayerNormNoBias(shape ...int) *LayerNorm {
	n := NewLayerNorm(shape...)
	n.Bias = nil
	return n
}

// Forward returns a tensor of the shape of x. Numbers of 16 bits are computed in float32.
func (n *LayerNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.LayerNormOver(n.Shape, optional(n.Weight), optional(n.Bias), n.Eps)
}

// ForwardResidual adds residual, of the shape of x, and returns the norm of the sum and the sum, in
// one kernel if the layer is over one dimension: see [tensor.Tensor.LayerNormResidual].
func (n *LayerNorm) ForwardResidual(x, residual *tensor.Tensor) (y, sum *tensor.Tensor) {
	return forwardResidual(n, n.Shape, x, residual, func() (y, sum *tensor.Tensor) {
		return x.LayerNormResidual(residual, -1, optional(n.Weight), optional(n.Bias), n.Eps)
	})
}

// forwardResidual runs fused, or the steps of it where the last dimension is not what the layer is
// over.
func forwardResidual(n Layer, shape tensor.Shape, x, residual *tensor.Tensor, fused func() (y, sum *tensor.Tensor)) (y, sum *tensor.Tensor) {
	if bad := failure("norm of a sum", x, residual); bad != nil {
		return bad, bad
	}
	if x.Rank() > 0 && shape.Equal(tensor.Shape{x.Size(-1)}) {
		return fused()
	}
	sum = x.Add(residual)
	return n.Forward(sum), sum
}

// RMSNorm divides the last dimensions by the root of their mean square: y = x/√(mean(x²) +
// eps)·weight (Zhang and Sennrich, 2019).
type RMSNorm struct {
	Weight *Param       // of Shape, or nil
	Shape  tensor.Shape // the dimensions that are normalised together
	Eps    float64      // 0 for the distance from 1 to the next number of x's type, PyTorch's default
}

// NewRMSNorm returns a layer over the last dimensions, whose sizes are given, with an eps.
func NewRMSNorm(eps float64, shape ...int) *RMSNorm {
	return &RMSNorm{Weight: NewParam(Ones, shape...), Shape: shape, Eps: eps}
}

// Forward returns a tensor of the shape of x.
func (n *RMSNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.RMSNormOver(n.Shape, optional(n.Weight), n.eps(x))
}

// ForwardResidual adds residual, of the shape of x, and returns the norm of the sum and the sum, in
// one kernel if the layer is over one dimension: see [tensor.Tensor.RMSNormResidual].
func (n *RMSNorm) ForwardResidual(x, residual *tensor.Tensor) (y, sum *tensor.Tensor) {
	return forwardResidual(n, n.Shape, x, residual, func() (y, sum *tensor.Tensor) {
		return x.RMSNormResidual(residual, -1, optional(n.Weight), n.eps(x))
	})
}

// eps is Eps, or what 0 stands for.
func (n *RMSNorm) eps(x *tensor.Tensor) float64 {
	if n.Eps == 0 {
		return machineEps(x)
	}
	return n.Eps
}

// machineEps is the distance from 1 to the next number of the type of x.
func machineEps(x *tensor.Tensor) float64 {
	if x.Err() != nil {
		return 0
	}
	switch x.DType() {
	case tensor.F64:
		return 0x1p-52
	case tensor.F16:
		return 0x1p-10
	case tensor.BF16:
		return 0x1p-7
	}
	return 0x1p-23
}

// GroupNorm normalises groups of channels, with all positions behind them (Wu and He, 2018).
// Channels are dimension 1.
type GroupNorm struct {
	Weight *Param // (channels), or nil
	Bias   *Param // (channels), or nil
	Groups int
	Eps    float64
}

// NewGroupNorm returns a layer of so many groups, which divide the channels.
func NewGroupNorm(groups, channels int) *GroupNorm {
	return &GroupNorm{Weight: NewParam(Ones, channels), Bias: NewParam(Zeros, channels), Groups: groups, Eps: 1e-5}
}

// Forward returns a tensor of the shape of x, (b, channels, …). Numbers of 16 bits are computed in
// float32, and rounded once.
func (n *GroupNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return fn.GroupNorm(x, n.Groups, optional(n.Weight), optional(n.Bias), n.Eps)
}

// InstanceNormOptions are what an [InstanceNorm] has beyond the usual.
type InstanceNormOptions struct {
	Affine   bool    // a weight and a bias
	Track    bool    // running statistics, which take the place of those of x but in training
	Eps      float64 // 0 for 1e-5
	Momentum float64 // 0 for 0.1
}

// InstanceNorm normalises all positions of each channel of each input (Ulyanov, Vedaldi and
// Lempitsky, 2016).
type InstanceNorm struct {
	Weight      *Param // (channels), or nil
	Bias        *Param // (channels), or nil
	RunningMean *Param // (channels), or nil
	RunningVar  *Param // (channels), or nil
	Batches     *Param `nn:"num_batches_tracked"` // I64, 0 as in PyTorch, which does not count them; nil for files that have it not
	Eps         float64
	Momentum    float64 // the share of new statistics in the running ones
	training    bool
}

// NewInstanceNorm returns a layer of so many channels, in one to three dimensions.
func NewInstanceNorm(channels int, o InstanceNormOptions) *InstanceNorm {
	n := &InstanceNorm{Eps: cmp.Or(o.Eps, 1e-5), Momentum: cmp.Or(o.Momentum, 0.1)}
	if o.Affine {
		n.Weight, n.Bias = NewParam(Ones, channels), NewParam(Zeros, channels)
	}
	if o.Track {
		n.RunningMean, n.RunningVar, n.Batches = runningStats(channels)
	}
	return n
}

// SetTraining says whether statistics are those of the inputs, and kept.
func (n *InstanceNorm) SetTraining(on bool) { n.training = on }

// Forward returns a tensor of the shape of x, (b, channels, …): see [GroupNorm.Forward].
func (n *InstanceNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	const op = "instance_norm"
	if bad := channels(op, x, 3, n.Weight, n.Bias, n.RunningMean, n.RunningVar); bad != nil {
		return bad
	}
	s := x.Shape()
	if n.RunningMean != nil && !n.training {
		return fn.BatchNorm(x, n.RunningMean.Tensor(), n.RunningVar.Tensor(), optional(n.Weight), optional(n.Bias), n.Eps)
	}
	positions := s[2:].Count()
	if positions <= 1 {
		return tensor.Fail(op, fmt.Errorf("%w: %v has one position in a channel, which has no variance", tensor.ErrShape, s))
	}
	if n.RunningMean != nil {
		wide := widened(x.Reshape(s[0], s[1], positions).Detach())
		mean, variance := wide.Mean(2).Mean(0), wide.VarKeep(1, 2).Squeeze(2).Mean(0)
		if err := track(n.RunningMean, n.RunningVar, nil, mean, variance, n.Momentum); err != nil {
			return tensor.Fail(op, err)
		}
	}
	return fn.InstanceNorm(x, optional(n.Weight), optional(n.Bias), n.Eps)
}

// optional is a parameter's tensor, nil of none.
func optional(p *Param) *tensor.Tensor {
	if p == nil {
		return nil
	}
	return p.Tensor()
}

// failure is the first error among tensors, nil if there is none; a nil tensor is one.
func failure(op string, of ...*tensor.Tensor) *tensor.Tensor {
	for _, x := range of {
		switch {
		case x == nil:
			return tensor.Fail(op, fmt.Errorf("%w: a nil tensor", tensor.ErrArgument))
		case x.Err() != nil:
			return x
		}
	}
	return nil
}

// channels is an error if x has fewer than rank dimensions, or parameters not as many numbers as
// dimension 1 of x has.
func channels(op string, x *tensor.Tensor, rank int, ps ...*Param) *tensor.Tensor {
	if bad := failure(op, x); bad != nil {
		return bad
	}
	if x.Rank() < rank {
		return tensor.Fail(op, fmt.Errorf("%w: %v has fewer than %d dimensions", tensor.ErrRank, x.Shape(), rank))
	}
	for _, p := range ps {
		if p != nil && p.Count() != x.Size(1) {
			return tensor.Fail(op, fmt.Errorf("%w: %v has %d channels, the layer %d", tensor.ErrShape, x.Shape(), x.Size(1), p.Count()))
		}
	}
	return nil
}

// widened is x in float32 if it has numbers of fewer bits.
func widened(x *tensor.Tensor) *tensor.Tensor {
	if x.Err() != nil || x.DType() == tensor.F64 {
		return x
	}
	return x.Cast(tensor.F32)
}

// narrowed is y in the type of x.
func narrowed(y, x *tensor.Tensor) *tensor.Tensor {
	if x.Err() != nil {
		return x
	}
	return y.Cast(x.DType())
}
