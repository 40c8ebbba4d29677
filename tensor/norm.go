package tensor

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/layout"
	rowsops "github.com/gokiln/kiln/ops/rows"
)

// RMSNorm is t over √(mean(t²)+eps) along dimension d, times weight, which has a number
// for each index of the dimension; nil is no weight.
func (t *Tensor) RMSNorm(d int, weight *Tensor, eps float64) *Tensor {
	return t.normalized("rms_norm", d, weight, nil, eps, false)
}

// LayerNorm is t less its mean along dimension d, over √(variance+eps), times weight, plus
// bias, which have a number for each index of the dimension; nil is no weight, or no bias.
// The variance is the mean squared distance from the mean.
func (t *Tensor) LayerNorm(d int, weight, bias *Tensor, eps float64) *Tensor {
	return t.normalized("layer_norm", d, weight, bias, eps, true)
}

// RMSNormResidual adds residual, of the shape of t, and normalises the sum as [Tensor.RMSNorm] does,
// in one kernel where the rows are contiguous: it reads two tensors and writes two. Blocks of
// transformers go on with both results:
//
//	y, x = attention.RMSNormResidual(x, -1, weight, 1e-6)
//
// Sum is rounded to the type of t before it is normalised, so that both have the bits of
// t.Add(residual) and of the norm of that. The gradient of sum is added to what comes by y.
func (t *Tensor) RMSNormResidual(residual *Tensor, d int, weight *Tensor, eps float64) (y, sum *Tensor) {
	return t.normalizedResidual("rms_norm_residual", residual, d, weight, nil, eps, false)
}

// LayerNormResidual is [Tensor.RMSNormResidual] with [Tensor.LayerNorm].
func (t *Tensor) LayerNormResidual(residual *Tensor, d int, weight, bias *Tensor, eps float64) (y, sum *Tensor) {
	return t.normalizedResidual("layer_norm_residual", residual, d, weight, bias, eps, true)
}

// RMSNormOver is [Tensor.RMSNorm] along the last dimensions together, which are those of shape, as
// are those of the weight.
func (t *Tensor) RMSNormOver(shape Shape, weight *Tensor, eps float64) *Tensor {
	return t.normalizedOver("rms_norm", shape, weight, nil, func(t, weight, _ *Tensor) *Tensor { return t.RMSNorm(-1, weight, eps) })
}

// LayerNormOver is [Tensor.LayerNorm] along the last dimensions together, which are those of shape,
// as are those of the weight and the bias.
//
//	x.LayerNormOver(tensor.Shape{64, 64}, weight, bias, 1e-5) // of (…, 64, 64)
func (t *Tensor) LayerNormOver(shape Shape, weight, bias *Tensor, eps float64) *Tensor {
	return t.normalizedOver("layer_norm", shape, weight, bias, func(t, weight, bias *Tensor) *Tensor { return t.LayerNorm(-1, weight, bias, eps) })
}

// normalizedOver has run normalize the last dimensions as one.
func (t *Tensor) normalizedOver(op string, shape Shape, weight, bias *Tensor, run func(t, weight, bias *Tensor) *Tensor) *Tensor {
	if bad := first(op, t); bad != nil {
		return bad
	}
	s, lead := t.Shape(), t.Rank()-len(shape)
	if len(shape) == 0 || lead < 0 || !shape.Equal(s[lead:]) {
		return failf(op, ErrShape, "%v are not the last dimensions of %v", shape, s)
	}
	for _, w := range []**Tensor{&weight, &bias} {
		if *w == nil {
			continue
		}
		if bad := first(op, *w); bad != nil {
			return bad
		}
		if !shape.Equal((*w).layout.Shape()) {
			return failf(op, ErrShape, "a weight or bias of %v for dimensions of %v", (*w).layout.Shape(), shape)
		}
		*w = (*w).FlattenAll()
	}
	return run(t.Reshape(joined(s, lead)...), weight, bias).Reshape(s...)
}

func (t *Tensor) normalized(op string, d int, weight, bias *Tensor, eps float64, center bool) *Tensor {
	n, in, bad := t.norm(op, d, weight, bias, eps, center)
	if bad != nil {
		return bad
	}
	views := normViews(weight, bias)
	out := t.produce(op, t.Shape(), func(out ops.View) error {
		if center {
			return rowsops.LayerNorm(t.dev.stream, out, t.view(), views[0], views[1], n.d, eps)
		}
		return rowsops.RMSNorm(t.dev.stream, out, t.view(), views[0], n.d, eps)
	})
	return out.from(op, n, in...)
}

func (t *Tensor) normalizedResidual(op string, residual *Tensor, d int, weight, bias *Tensor, eps float64, center bool) (y, sum *Tensor) {
	n, in, bad := t.norm(op, d, weight, bias, eps, center)
	if bad == nil {
		bad = first(op, t, residual)
	}
	if bad != nil {
		return bad, bad
	}
	err := same(t, residual)
	if err == nil && !residual.layout.Shape().Equal(t.layout.Shape()) {
		err = fmt.Errorf("%w: a residual of %v for %v", ErrShape, residual.layout.Shape(), t.layout.Shape())
	}
	if err != nil {
		bad = failed(op, err)
		return bad, bad
	}
	a, b := t, residual
	if !slices.Equal(a.layout.Strides(), b.layout.Strides()) {
		a, b = a.Detach().Contiguous(), b.Detach().Contiguous()
		if bad := first(op, a, b); bad != nil {
			return bad, bad
		}
	}
	views := normViews(weight, bias)
	y = t.produce(op, t.Shape(), func(out ops.View) error {
		sum = t.produce(op, t.Shape(), func(sum ops.View) error {
			if center {
				return rowsops.LayerNormResidual(t.dev.stream, out, sum, a.view(), b.view(), views[0], views[1], n.d, eps)
			}
			return rowsops.RMSNormResidual(t.dev.stream, out, sum, a.view(), b.view(), views[0], n.d, eps)
		})
		return sum.Err()
	})
	if y.err != nil {
		return y, y
	}
	sum = sum.from(op, grad2(gradAdd), t, residual)
	in[0] = sum
	return y.from(op, n, in...), sum
}

// norm checks a normalisation of t, and returns its gradient and the operands.
func (t *Tensor) norm(op string, d int, weight, bias *Tensor, eps float64, center bool) (n normal, in []*Tensor, bad *Tensor) {
	in = []*Tensor{t}
	for _, w := range []*Tensor{weight, bias} {
		if w != nil {
			in = append(in, w)
		}
	}
	if bad := first(op, in...); bad != nil {
		return n, nil, bad
	}
	if err := same(in...); err != nil {
		return n, nil, failed(op, err)
	}
	if math.IsNaN(eps) || eps < 0 {
		return n, nil, failf(op, ErrArgument, "eps of %v, want 0 or more", eps)
	}
	d, err := layout.Dim(d, t.Rank())
	if err != nil {
		return n, nil, failed(op, err)
	}
	return normal{d: d, eps: eps, center: center, weighted: weight != nil, biased: bias != nil}, in, nil
}

// normViews are the weight and the bias as operations take them: without memory for none.
func normViews(weight, bias *Tensor) (views [2]ops.View) {
	for i, w := range []*Tensor{weight, bias} {
		if w != nil {
			views[i] = w.view()
		}
	}
	return views
}
