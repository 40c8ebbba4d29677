package tensor

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul"
)

// MatMul is the product of matrices: of (…, m, k) and (…, k, n) it is (…, m, n), where the
// dimensions in front are broadcast. An operand of one dimension is a row in front and a
// column behind, and its dimension does not come back. Products of no elements are 0.
// Numbers of fewer than 32 bits are added up in float32, those of 8 bits in parts of 128 that have
// fewer bits on some devices; integers wrap. See
// [Device.SetMatMulPrecision] for products of F32 that are less exact and faster.
func (t *Tensor) MatMul(u *Tensor) *Tensor { return t.matMul(u, false, 0) }

// MatMulAs is [Tensor.MatMul] with results of another type, which hold more of the sums: of I8 and
// U8 it is I32, or U32 of the latter; of floating-point types of fewer than 32 bits a longer one,
// up to F32.
//
//	y := x.MatMulAs(w, tensor.I32) // of I8
func (t *Tensor) MatMulAs(u *Tensor, d DType) *Tensor { return t.matMul(u, false, d) }

// product is MatMul in the highest precision, for methods whose later steps make errors grow.
func (t *Tensor) product(u *Tensor) *Tensor { return t.matMul(u, true, 0) }

// matMul is a product in the highest precision or in that of the device, of type d, if that is not
// 0.
func (t *Tensor) matMul(u *Tensor, exact bool, d DType) *Tensor {
	const op = "matmul"
	if bad := first(op, t, u); bad != nil {
		return bad
	}
	if d == 0 {
		d = t.dtype
	}
	switch {
	case t.Rank() == 0 || u.Rank() == 0:
		return failf(op, ErrRank, "%v and %v: single numbers have no product of matrices", t.layout.Shape(), u.layout.Shape())
	case t.Rank() == 1 && u.Rank() == 1:
		return t.Unsqueeze(0).matMul(u.Unsqueeze(1), exact, d).Reshape()
	case t.Rank() == 1:
		return t.Unsqueeze(0).matMul(u, exact, d).Squeeze(-2)
	case u.Rank() == 1:
		return t.matMul(u.Unsqueeze(1), exact, d).Squeeze(-1)
	}
	a, b := t.layout.Shape(), u.layout.Shape()
	m, k, n := a[len(a)-2], a[len(a)-1], b[len(b)-1]
	if k != b[len(b)-2] {
		return failf(op, ErrShape, "%v and %v: %d columns and %d rows", a, b, k, b[len(b)-2])
	}
	batch, err := layout.Broadcast(a[:len(a)-2], b[:len(b)-2])
	if err != nil {
		return failed(op, fmt.Errorf("%w: %v and %v: %v", ErrShape, a, b, err))
	}
	if err := same(t, u); err != nil {
		return failed(op, err)
	}
	out := t.produceAs(op, d, append(slices.Clone(batch), m, n), func(out ops.View) error {
		o := matmul.Options{Precision: t.dev.MatMulPrecision()}
		if exact {
			o.Precision = Highest
		}
		return matmul.MatmulWith(t.dev.stream, o, out, t.view(), u.view())
	})
	return out.from(op, grad2(func(g, x, y, out *Tensor) (*Tensor, *Tensor) {
		return g.matMul(y.Cast(d).T(), exact, d).Cast(x.dtype), x.Cast(d).T().matMul(g, exact, d).Cast(y.dtype)
	}), t, u)
}

// MV is the product of a matrix and a vector: [Tensor.MatMul] of two and one dimensions.
func (t *Tensor) MV(u *Tensor) *Tensor {
	const op = "mv"
	if bad := first(op, t, u); bad != nil {
		return bad
	}
	if t.Rank() != 2 || u.Rank() != 1 {
		return failf(op, ErrRank, "%v and %v: want a matrix and a vector", t.layout.Shape(), u.layout.Shape())
	}
	return t.MatMul(u)
}

// TensorDot multiplies the elements of t and u that have the same indices in some dimensions,
// those of t and those of u that go with them, and sums over these. The result has the other
// dimensions of t, and behind them those of u. With none it is the product of each element with
// each.
//
//	x.TensorDot(y, []int{-2, -1}, []int{0, 1}) // (…, 3, 4) and (3, 4, …)
//
// Sizes of dimensions that go together are equal, or it is an error of kind [ErrShape]: nothing
// is broadcast.
func (t *Tensor) TensorDot(u *Tensor, of, with []int) *Tensor {
	const op = "tensordot"
	if bad := first(op, t, u); bad != nil {
		return bad
	}
	if len(of) != len(with) {
		return failf(op, ErrRank, "dimensions %v and %v: want as many of both", of, with)
	}
	if err := same(t, u); err != nil {
		return failed(op, err)
	}
	if err := computes(t.dtype); err != nil {
		return failed(op, err)
	}
	own, keep, err := apart(t, of)
	if err != nil {
		return failed(op, err)
	}
	other, rest, err := apart(u, with)
	if err != nil {
		return failed(op, err)
	}
	sum, shape := 1, Shape{}
	for i, d := range own {
		n := t.Size(d)
		if n != u.Size(other[i]) {
			return failf(op, ErrShape, "dimension %d of %v and %d of %v", d, t.layout.Shape(), other[i], u.layout.Shape())
		}
		sum *= n
	}
	rows, cols := 1, 1
	for _, d := range keep {
		rows, shape = rows*t.Size(d), append(shape, t.Size(d))
	}
	for _, d := range rest {
		cols, shape = cols*u.Size(d), append(shape, u.Size(d))
	}
	x := t.Permute(slices.Concat(keep, own)...).Reshape(rows, sum)
	y := u.Permute(slices.Concat(other, rest)...).Reshape(sum, cols)
	return x.MatMul(y).Reshape(shape...)
}

// apart returns dimensions of t, counted from 0, each once, and the others.
func apart(t *Tensor, dims []int) (these, others []int, err error) {
	for _, d := range dims {
		i, err := layout.Dim(d, t.Rank())
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(these, i) {
			return nil, nil, fmt.Errorf("%w: %d in %v", ErrDuplicateDim, d, dims)
		}
		these = append(these, i)
	}
	for i := range t.Rank() {
		if !slices.Contains(these, i) {
			others = append(others, i)
		}
	}
	return these, others, nil
}
