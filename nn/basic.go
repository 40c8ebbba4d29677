package nn

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

const sqrt3 = 1.7320508075688772

// within is uniform within 1/√fan.
func within(fan float64) Initializer {
	bound := 1 / math.Sqrt(fan)
	return Uniform(-bound, bound)
}

// Identity returns what it is given.
type Identity struct{}

// Forward returns x.
func (Identity) Forward(x *tensor.Tensor) *tensor.Tensor { return x }

// ModuleFunc is a function as a layer without parameters: nn.ModuleFunc((*tensor.Tensor).Relu).
type ModuleFunc func(x *tensor.Tensor) *tensor.Tensor

// Forward calls the function.
func (f ModuleFunc) Forward(x *tensor.Tensor) *tensor.Tensor { return f(x) }

// ModeFunc is a function as a layer that is told whether the network is being trained.
type ModeFunc struct {
	F        func(x *tensor.Tensor, training bool) *tensor.Tensor
	training bool
}

// SetTraining says what the function is told.
func (f *ModeFunc) SetTraining(on bool) { f.training = on }

// Forward calls the function.
func (f *ModeFunc) Forward(x *tensor.Tensor) *tensor.Tensor { return f.F(x, f.training) }

// Sequential is layers one behind the other. Their parameters have the names 0., 1. and so on, as
// in PyTorch.
type Sequential struct {
	Layers []Layer `nn:",inline"`
}

// NewSequential returns layers one behind the other.
func NewSequential(layers ...Layer) *Sequential { return &Sequential{Layers: layers} }

// Add adds layers at the end, and returns s.
func (s *Sequential) Add(layers ...Layer) *Sequential {
	s.Layers = append(s.Layers, layers...)
	return s
}

// Func adds a function at the end, and returns s.
func (s *Sequential) Func(f func(x *tensor.Tensor) *tensor.Tensor) *Sequential {
	return s.Add(ModuleFunc(f))
}

// Forward returns the result of the last layer, x if there is none.
func (s *Sequential) Forward(x *tensor.Tensor) *tensor.Tensor {
	for _, l := range s.Layers {
		x = l.Forward(x)
	}
	return x
}

// ForwardAll returns the results of all layers.
func (s *Sequential) ForwardAll(x *tensor.Tensor) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(s.Layers))
	for i, l := range s.Layers {
		x = l.Forward(x)
		out[i] = x
	}
	return out
}

// Flatten makes one dimension of dimensions From to To, both included. PyTorch's default is 1 to
// -1.
type Flatten struct{ From, To int }

// NewFlatten returns a layer that keeps dimension 0 only.
func NewFlatten() *Flatten { return &Flatten{From: 1, To: -1} }

// Forward returns x with fewer dimensions.
func (f *Flatten) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Flatten(f.From, f.To) }

// Unflatten makes several dimensions of dimension Dim, of which one may be [tensor.Inferred].
type Unflatten struct {
	Dim   int
	Sizes []int
}

// Forward returns x with more dimensions.
func (f *Unflatten) Forward(x *tensor.Tensor) *tensor.Tensor {
	if bad := failure("unflatten", x); bad != nil {
		return bad
	}
	s, d := x.Shape(), f.Dim
	if d < 0 {
		d += len(s)
	}
	if d < 0 || d >= len(s) {
		return tensor.Fail("unflatten", fmt.Errorf("%w: %d of %v", tensor.ErrDim, f.Dim, s))
	}
	return x.Reshape(append(append(append([]int{}, s[:d]...), f.Sizes...), s[d+1:]...)...)
}

// PReLU is x where that is above 0, and weight·x elsewhere (He et al., 2015).
type PReLU struct {
	Weight *Param // (1), or (channels) for dimension 1 of x
}

// NewPReLU returns a layer of one slope, or one for each of several channels. Slopes begin as 0.25.
func NewPReLU(channels int) *PReLU { return &PReLU{Weight: NewParam(Constant(0.25), channels)} }

// Forward returns a tensor of the shape of x. Several slopes are those of dimension 1, or of the
// only one.
func (p *PReLU) Forward(x *tensor.Tensor) *tensor.Tensor { return fn.PRelu(x, p.Weight.Tensor()) }

// Bilinear is y = x1ᵀ·W·x2 + b for each of the numbers of y.
type Bilinear struct {
	Weight *Param // (out, in1, in2)
	Bias   *Param // (out), or nil
}

// NewBilinear returns a layer of two inputs. Weight and bias begin uniformly within 1/√in1.
func NewBilinear(in1, in2, out int) *Bilinear {
	return &Bilinear{Weight: NewParam(within(float64(in1)), out, in1, in2), Bias: NewParam(within(float64(in1)), out)}
}

// Forward returns (…, out) of (…, in1) and (…, in2), whose other dimensions are equal.
func (b *Bilinear) Forward(x1, x2 *tensor.Tensor) *tensor.Tensor {
	const op = "bilinear"
	w := b.Weight.Tensor()
	if bad := failure(op, x1, x2, w); bad != nil {
		return bad
	}
	s, r := x1.Shape(), x1.Rank()
	out, in1, in2 := w.Size(0), w.Size(1), w.Size(2)
	if r < 1 || x2.Rank() != r || !s[:r-1].Equal(x2.Shape()[:r-1]) || s[r-1] != in1 || x2.Size(-1) != in2 {
		return tensor.Fail(op, fmt.Errorf("%w: inputs of %v and %v for a weight of %v", tensor.ErrShape, s, x2.Shape(), w.Shape()))
	}
	left := x1.Reshape(-1, in1).MatMul(w.Permute(1, 0, 2).Reshape(in1, out*in2))
	y := left.Reshape(-1, out, in2).MatMul(x2.Reshape(-1, in2, 1)).Reshape(append(append([]int{}, s[:r-1]...), out)...)
	if b.Bias != nil {
		y = y.Add(b.Bias.Tensor())
	}
	return y
}
