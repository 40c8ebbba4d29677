package nn

import (
	"fmt"

	"github.com/gokiln/kiln/tensor"
)

// Weighted is a layer that can compute with another weight than its parameter: [Linear], [Conv] and
// [ConvTranspose].
type Weighted interface {
	Layer
	parts() (weight, bias *Param, out int) // out is the dimension of the outputs
	with(weight *Param) Layer              // the layer with another weight
}

func (l *Linear) parts() (weight, bias *Param, out int)        { return l.Weight, l.Bias, 0 }
func (c *Conv) parts() (weight, bias *Param, out int)          { return c.Weight, c.Bias, 0 }
func (c *ConvTranspose) parts() (weight, bias *Param, out int) { return c.Weight, c.Bias, 1 }

func (l *Linear) with(w *Param) Layer        { return &Linear{Weight: w, Bias: l.Bias} }
func (c *Conv) with(w *Param) Layer          { return &Conv{w, c.Bias, c.Options} }
func (c *ConvTranspose) with(w *Param) Layer { return &ConvTranspose{w, c.Bias, c.Options} }

// computed is a tensor as a parameter.
func computed(t *tensor.Tensor) *Param {
	p := &Param{t: t}
	if t.Err() == nil {
		p.shape = t.Shape()
	}
	return p
}

// WeightNorm is a layer whose weight is G·V/‖V‖, where each index of dimension 0 has a length G of
// its own (Salimans and Kingma, 2016). Names are those of PyTorch's parametrizations.weight_norm.
type WeightNorm struct {
	V     *Param `nn:"parametrizations.weight.original1"` // of the weight's shape
	G     *Param `nn:"parametrizations.weight.original0"` // (n, 1 …)
	Bias  *Param
	layer Weighted
}

// NewWeightNorm returns a layer with the parameters of another one, which is not to be used by
// itself. [Init] makes G the lengths that V has, so that the weight begins as V.
func NewWeightNorm(layer Weighted) *WeightNorm {
	n := &WeightNorm{layer: layer}
	n.V, n.Bias, _ = layer.parts()
	shape := append([]int{}, n.V.Shape()...)
	for i := 1; i < len(shape); i++ {
		shape[i] = 1
	}
	n.G = NewParam(func(_ *tensor.Device, dt tensor.DType, _ tensor.Shape) *tensor.Tensor {
		return lengths(n.V.Tensor().Detach()).Cast(dt)
	}, shape...)
	return n
}

// Weight is what the layer multiplies by.
func (n *WeightNorm) Weight() *tensor.Tensor {
	v := n.V.Tensor()
	return narrowed(widened(v).Mul(widened(n.G.Tensor()).Div(lengths(v))), v)
}

// Forward is that of the layer.
func (n *WeightNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return forwardWith(n.layer, n.Weight(), x)
}

// forwardWith is the forward pass of a layer with another weight.
func forwardWith(l Weighted, weight, x *tensor.Tensor) *tensor.Tensor {
	if adapted, ok := l.(*Linear); ok && adapted.Adapter != nil {
		return tensor.Fail("linear", fmt.Errorf("%w: the norm of a weight whose layer has an adapter, which it would leave out: call nn.Merge first", tensor.ErrArgument))
	}
	return l.with(computed(weight)).Forward(x)
}

// Plain returns a layer that has the weight as it is now, to use without the norm.
func (n *WeightNorm) Plain() (Layer, error) { return plain(n.layer, n.Weight()) }

// plain is a layer with a parameter of its own for a weight.
func plain(layer Weighted, weight *tensor.Tensor) (Layer, error) {
	p := ParamOf(weight.Detach())
	if err := p.Tensor().Err(); err != nil {
		return nil, fmt.Errorf("nn: plain: %w", err)
	}
	return layer.with(p), nil
}

// SpectralNorm is a layer whose weight, a matrix of outputs by all else, is divided by its largest
// singular value (Miyato et al., 2018). In training each forward pass makes the vectors for it
// better by a step of power iteration. Names are those of PyTorch's parametrizations.spectral_norm.
type SpectralNorm struct {
	Original *Param `nn:"parametrizations.weight.original"`
	U        *Param `nn:"parametrizations.weight.0._u"` // (out), a buffer
	V        *Param `nn:"parametrizations.weight.0._v"` // (all else), a buffer
	Bias     *Param
	Steps    int // of power iteration in a forward pass
	layer    Weighted
	training bool
}

// spectralEps bounds the lengths that vectors are divided by, as in PyTorch.
const spectralEps = 1e-12

// NewSpectralNorm returns a layer with the parameters of another one, which is not to be used by
// itself. [Init] begins with 15 steps of power iteration, each forward pass in training has one.
func NewSpectralNorm(layer Weighted) *SpectralNorm {
	n := &SpectralNorm{layer: layer, Steps: 1}
	var out int
	n.Original, n.Bias, out = layer.parts()
	rows := n.Original.Shape()[out]
	n.U = NewBuffer(func(d *tensor.Device, dt tensor.DType, shape tensor.Shape) *tensor.Tensor {
		return unit(tensor.Randn(d, dt, 0, 1, shape...))
	}, rows)
	n.V = NewBuffer(func(d *tensor.Device, dt tensor.DType, shape tensor.Shape) *tensor.Tensor {
		u, v := n.iterate(n.matrix().Detach(), n.U.Tensor(), unit(tensor.Randn(d, dt, 0, 1, shape...)), 15)
		if err := n.U.Set(u); err != nil {
			return tensor.Fail("spectral_norm", err)
		}
		return v
	}, n.Original.Count()/max(rows, 1))
	return n
}

// SetTraining says whether forward passes go on with power iteration.
func (n *SpectralNorm) SetTraining(on bool) { n.training = on }

// unit is a vector of length 1.
func unit(x *tensor.Tensor) *tensor.Tensor { return x.Div(x.Norm().MaximumScalar(spectralEps)) }

// matrix is the weight as (out, all else).
func (n *SpectralNorm) matrix() *tensor.Tensor {
	_, _, out := n.layer.parts()
	w := n.Original.Tensor()
	if w.Err() != nil {
		return w
	}
	return w.Transpose(0, out).Reshape(w.Size(out), w.Count()/max(w.Size(out), 1))
}

// iterate is u and v after steps of power iteration.
func (n *SpectralNorm) iterate(w, u, v *tensor.Tensor, steps int) (*tensor.Tensor, *tensor.Tensor) {
	for range steps {
		u = unit(w.MV(v))
		v = unit(w.T().MV(u))
	}
	return u, v
}

// Weight is what the layer multiplies by. In training it changes the vectors.
func (n *SpectralNorm) Weight() *tensor.Tensor {
	w, u, v := n.matrix(), n.U.Tensor(), n.V.Tensor()
	if n.training {
		u, v = n.iterate(w.Detach(), u, v, n.Steps)
		for _, s := range []struct {
			p *Param
			t *tensor.Tensor
		}{{n.U, u}, {n.V, v}} {
			if err := s.p.Set(s.t); err != nil {
				return tensor.Fail("spectral_norm", err)
			}
		}
	}
	return n.Original.Tensor().Div(u.Dot(w.MV(v)))
}

// Forward is that of the layer.
func (n *SpectralNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return forwardWith(n.layer, n.Weight(), x)
}

// Plain returns a layer that has the weight as it is now, to use without the norm.
func (n *SpectralNorm) Plain() (Layer, error) { return plain(n.layer, n.Weight()) }
