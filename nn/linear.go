package nn

import (
	"math"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// Layer is what takes one tensor and returns one.
type Layer interface {
	Forward(x *tensor.Tensor) *tensor.Tensor
}

// Linear is y = x·Wᵀ + b along the last dimension.
type Linear struct {
	Weight *Param // (out, in)
	Bias   *Param // (out), or nil

	Adapter *LoRA `nn:",inline"` // what [Adapt] adds, or nil

	observer Observer
}

// Observe makes the layer tell f what its weight is multiplied with: see [Observable].
func (l *Linear) Observe(f Observer) { changed(); l.observer = f }

// NewLinear returns a layer from in to out features. Weight and bias begin uniformly within 1/√in,
// as in PyTorch.
func NewLinear(in, out int) *Linear {
	l := NewLinearNoBias(in, out)
	bound := 1 / math.Sqrt(float64(max(in, 1)))
	l.Bias = NewParam(Uniform(-bound, bound), out)
	return l
}

// NewLinearNoBias is [NewLinear] without a bias.
func NewLinearNoBias(in, out int) *Linear {
	return &Linear{Weight: NewParam(Scaled(FanIn, 1/math.Sqrt(3), true), out, in)}
}

// Forward returns a tensor whose last dimension is out, of one whose last dimension is in.
func (l *Linear) Forward(x *tensor.Tensor) *tensor.Tensor {
	l.observer.call("weight", x, nil)
	if l.adapted() {
		return l.Adapter.forward(l, x)
	}
	return product(x, l.Weight, optional(l.Bias))
}

// alone reports whether the layer's product is not one of a kernel that has another, too: an adapter
// is added to it, an observer sees it, or the weight is quantized.
func (l *Linear) alone() bool {
	return l.adapted() || l.observer != nil || l.Weight.Quantized() != nil
}

// Embedding is a table whose rows are looked up by number.
type Embedding struct {
	Weight *Param // (n, d)

	observer Observer
}

// Observe makes the layer tell f what [Embedding.Unembed] multiplies its weight with: see
// [Observable].
func (e *Embedding) Observe(f Observer) { changed(); e.observer = f }

// NewEmbedding returns a table of n rows of d numbers, normally distributed at first.
func NewEmbedding(n, d int) *Embedding { return &Embedding{Weight: NewParam(Normal(0, 1), n, d)} }

// Forward returns the rows of ids, which are integers in any shape: the shape of ids and d.
func (e *Embedding) Forward(ids *tensor.Tensor) *tensor.Tensor {
	return lookup(e.Weight, ids)
}

// Unembed returns the products of vectors with all rows, of a last dimension d: scores of n tokens,
// with the weight tied to the embedding.
func (e *Embedding) Unembed(x *tensor.Tensor) *tensor.Tensor {
	e.observer.call("weight", x, nil)
	return product(x, e.Weight, nil)
}

// Dropout sets numbers to zero at random in training and scales the others, so that the mean stays.
type Dropout struct {
	P        float64 // the share that is set to zero, in [0, 1)
	training bool
}

// SetTraining says whether numbers are dropped.
func (d *Dropout) SetTraining(on bool) { d.training = on }

// Forward returns x, with numbers dropped in training.
func (d *Dropout) Forward(x *tensor.Tensor) *tensor.Tensor {
	if d == nil || !d.training || d.P == 0 {
		return x
	}
	return fn.Dropout(x, d.P)
}
