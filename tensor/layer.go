package tensor

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/matmul"
)

// Activation is a function of [Epilogue], none if it is the zero value.
type Activation int

// The activations, as the methods of these names.
const (
	NoActivation Activation = iota
	Relu
	Gelu    // by tanh, as PyTorch's GELU with approximate="tanh"
	GeluErf // as PyTorch's GELU without
	Silu
	Sigmoid
	Tanh
	Mish
)

// activations are the operations, and the methods with their gradients.
var activations = [...]struct {
	op *elementwise.Elementwise
	of func(*Tensor) *Tensor
}{
	NoActivation: {nil, func(t *Tensor) *Tensor { return t }},
	Relu:         {elementwise.Relu, (*Tensor).Relu}, Gelu: {elementwise.Gelu, (*Tensor).Gelu}, GeluErf: {elementwise.GeluErf, (*Tensor).GeluErf}, Silu: {elementwise.Silu, (*Tensor).Silu},
	Sigmoid: {elementwise.Sigmoid, (*Tensor).Sigmoid}, Tanh: {elementwise.Tanh, (*Tensor).Tanh}, Mish: {elementwise.Mish, (*Tensor).Mish},
}

// Epilogue is what [Tensor.LinearWith] makes of the sums of products before they are rounded:
//
//	act(Scale·(x·wᵀ) + Bias) · (x·Upᵀ) + Residual
type Epilogue struct {
	Scale    float64    // 0 stands for 1; not for integers
	Bias     *Tensor    // a number for each row of the weight, nil for none
	Act      Activation // for floating-point types; Relu for integers, too
	Up       *Tensor    // the second weight of gated linear units, of the shape of the first, nil for none
	Residual *Tensor    // is broadcast to the result, nil for none
}

// Linear is t·weightᵀ + bias: of (…, k) and a weight of (n, k), as PyTorch's layers have it, it is
// (…, n). The bias has n numbers, and is nil for none. Sums are rounded once, with the bias.
func (t *Tensor) Linear(weight, bias *Tensor) *Tensor {
	return t.linear("linear", weight, &Epilogue{Bias: bias})
}

// LinearWith is [Tensor.Linear] with more than a bias, in the kernel that multiplies:
//
//	h := x.LinearWith(w, tensor.Epilogue{Bias: b, Act: tensor.Gelu, Residual: x})
//	h := x.LinearWith(gate, tensor.Epilogue{Act: tensor.Silu, Up: up}) // SwiGLU
//
// A gate and an up that are stacked in one weight are views of it, w.Narrow(0, 0, n) and
// w.Narrow(0, n, n). All of it is computed in the type of the sums and rounded once. Where
// gradients are recorded and there is an activation or a second weight, the steps are operations of
// their own, and results of types of fewer than 32 bits are rounded in each.
func (t *Tensor) LinearWith(weight *Tensor, e Epilogue) *Tensor {
	const op = "linear"
	if e.Act < 0 || int(e.Act) >= len(activations) {
		return failf(op, ErrArgument, "activation %d", e.Act)
	}
	in := e.operands(t, weight)
	if bad := first(op, in...); bad != nil {
		return bad
	}
	records := slices.ContainsFunc(in, (*Tensor).RequiresGrad) && !slices.ContainsFunc(in, func(u *Tensor) bool { return u.noGrad })
	if !records || e.Act == NoActivation && e.Up == nil {
		return t.linear(op, weight, &e)
	}
	if _, err := t.linearShape(weight, &e); err != nil {
		return failed(op, err)
	}
	out := activations[e.Act].of(t.linear(op, weight, &Epilogue{Scale: e.Scale, Bias: e.Bias}))
	if e.Up != nil {
		out = out.Mul(t.linear(op, e.Up, &Epilogue{}))
	}
	if e.Residual != nil {
		out = out.Add(e.Residual)
	}
	return out
}

// operands are what there is of a product with an epilogue.
func (e *Epilogue) operands(t, weight *Tensor) []*Tensor {
	in := []*Tensor{t, weight}
	for _, u := range []*Tensor{e.Bias, e.Up, e.Residual} {
		if u != nil {
			in = append(in, u)
		}
	}
	return in
}

// linear is LinearWith as one operation, which has a gradient if there is neither an activation nor
// a second weight.
func (t *Tensor) linear(op string, weight *Tensor, e *Epilogue) *Tensor {
	in := e.operands(t, weight)
	if bad := first(op, in...); bad != nil {
		return bad
	}
	if err := computes(t.dtype); err != nil {
		return failed(op, err)
	}
	if t.Rank() == 1 {
		return t.Unsqueeze(0).linear(op, weight, e).Squeeze(-2)
	}
	shape, err := t.linearShape(weight, e)
	if err == nil {
		err = same(in...)
	}
	if err != nil {
		return failed(op, err)
	}
	out := t.produce(op, shape, func(out ops.View) error {
		o := matmul.Options{Precision: t.dev.MatMulPrecision(), Epilogue: e.views()}
		return matmul.MatmulWith(t.dev.stream, o, out, t.view(), weight.transposed())
	})
	return out.from(op, linearGradient{e.Scale, e.Bias != nil, e.Residual != nil}, in...)
}

// transposed is a view of the transposed matrices.
func (t *Tensor) transposed() ops.View {
	v := t.view()
	v.Layout, _ = v.Layout.Transpose(-2, -1) // which matrices have
	return v
}

// linearShape checks the shapes, and returns that of the result.
func (t *Tensor) linearShape(weight *Tensor, e *Epilogue) (Shape, error) {
	a, w := t.layout.Shape(), weight.layout.Shape()
	switch {
	case len(a) == 0:
		return nil, fmt.Errorf("%w: %v has no rows", ErrRank, a)
	case len(w) != 2:
		return nil, fmt.Errorf("%w: a weight of %v, want a matrix", ErrRank, w)
	case a[len(a)-1] != w[1]:
		return nil, fmt.Errorf("%w: %v and a weight of %v: %d and %d columns", ErrShape, a, w, a[len(a)-1], w[1])
	case e.Bias != nil && !e.Bias.layout.Shape().Equal(Shape{w[0]}):
		return nil, fmt.Errorf("%w: a bias of %v for a weight of %v", ErrShape, e.Bias.layout.Shape(), w)
	case e.Up != nil && !e.Up.layout.Shape().Equal(w):
		return nil, fmt.Errorf("%w: weights of %v and %v", ErrShape, w, e.Up.layout.Shape())
	}
	shape := append(slices.Clone(a[:len(a)-1]), w[0])
	if e.Residual != nil {
		if _, err := e.Residual.layout.BroadcastTo(shape); err != nil {
			return nil, fmt.Errorf("a residual: %w", err)
		}
	}
	return shape, nil
}

// views is the epilogue for the operation.
func (e *Epilogue) views() (o matmul.Epilogue) {
	o.Act = activations[e.Act].op
	if e.Scale != 0 && e.Scale != 1 {
		o.Scale = dtype.New(e.Scale)
	}
	if e.Bias != nil {
		o.Bias = e.Bias.view()
	}
	if e.Up != nil {
		o.Up = e.Up.transposed()
	}
	if e.Residual != nil {
		o.Residual = e.Residual.view()
	}
	return o
}

// linearGradient is the gradient of a product with a scale, a bias and a residual.
type linearGradient struct {
	scale            float64
	biased, residual bool
}

func (l linearGradient) spread(g, _ *Tensor, in []*Tensor) []*Tensor {
	x, weight, scaled := in[0], in[1], g
	if l.scale != 0 && l.scale != 1 {
		scaled = g.MulScalar(l.scale)
	}
	n, k := weight.Size(0), weight.Size(1)
	shape := x.layout.Shape()
	rows := shape[:len(shape)-1].Count()
	grads := []*Tensor{scaled.MatMul(weight), scaled.Reshape(rows, n).T().MatMul(x.Reshape(rows, k))}
	if l.biased {
		grads = append(grads, g)
	}
	if l.residual {
		grads = append(grads, g)
	}
	return grads
}
