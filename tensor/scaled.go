package tensor

import (
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/matmul"
)

// ScaledMatMul is the product of two matrices of type F8E4M3, F8E5M2, I8 or U8 whose elements stand
// for themselves times a scale, of type F32. The scales of t, (m, k), have the shape (1, 1) for one
// of the whole matrix, (m, 1) for one of each row, (m, ceil(k/128)) for one of each 128 elements of
// each row, or (ceil(m/128), ceil(k/128)) for one of each block. Those of u, (k, n), are likewise
// (1, 1), (1, n), (ceil(k/128), n) or (ceil(k/128), ceil(n/128)). Scales that differ along k are
// for floating-point elements.
//
// The result is of type d, a floating-point one of at most 32 bits. Sums are in float32, those of
// integers in 32 bits, and results are rounded once; [Device.SetMatMulPrecision] permits less of
// those of 8-bit floating-point numbers. There is no gradient.
//
//	s := x.Abs().MaxKeep(1).DivScalar(448) // what F8E4M3 has at most
//	y := x.Div(s).Cast(tensor.F8E4M3).ScaledMatMul(w8, s, ws, tensor.BF16)
func (t *Tensor) ScaledMatMul(u, scaleT, scaleU *Tensor, d DType) *Tensor {
	const op = "scaled_matmul"
	in := []*Tensor{t, u, scaleT, scaleU}
	if bad := first(op, in...); bad != nil {
		return bad
	}
	if slices.ContainsFunc(in, (*Tensor).RequiresGrad) {
		return failf(op, ErrNoGradient, "scaled products have none: use Detach or NoGrad")
	}
	if err := same(t, u); err != nil {
		return failed(op, err)
	}
	if err := same(scaleT, scaleU); err != nil {
		return failed(op, err)
	}
	if t.dev != scaleT.dev {
		return failf(op, ErrDevice, "%v and scales on %v", t.dev, scaleT.dev)
	}
	a, b := t.layout.Shape(), u.layout.Shape()
	if len(a) != 2 || len(b) != 2 {
		return failf(op, ErrRank, "%v and %v: want two dimensions each", a, b)
	}
	return t.produceAs(op, d, Shape{a[0], b[1]}, func(out ops.View) error {
		o := matmul.Options{Precision: t.dev.MatMulPrecision()}
		return matmul.Scaled(t.dev.stream, out, t.view(), u.view(), scaleT.view(), scaleU.view(), o)
	}).without(in...)
}
