package tensor

import (
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/matmul"
)

// GroupedMatMul is the products of groups of matrices of different sizes, as those of a mixture of
// experts. The groups divide a dimension, of size T: ends has one dimension, with where each group
// ends, and a group begins where the one before it ends. Which dimension that is say those of t and
// u:
//
//	(T, k) by (groups, k, n) is (T, n)    rows, each multiplied by the matrix of its group
//	(m, T) by (T, n) is (groups, m, n)    what is summed over
//	(groups, m, k) by (k, T) is (m, T)    columns
//
// Groups may be empty. What is behind the end of the last one is 0, and is not summed. Ends are
// integers on the device of t, and nothing waits for them: those that are not in order, or not in 0
// to T, stand for the nearest that are. Types and precision are as for [Tensor.MatMul].
//
//	ends := counts.CumSum(0)                // of the tokens of each expert, which are sorted by expert
//	h := x.GroupedMatMul(up, ends).Silu()   // up has (experts, k, n)
//	y := h.GroupedMatMul(down.T(), ends)    // down has (experts, m, n)
func (t *Tensor) GroupedMatMul(u, ends *Tensor) *Tensor {
	const op = "grouped_matmul"
	if bad := indices(op, ends, t, u); bad != nil {
		return bad
	}
	a, b := t.layout.Shape(), u.layout.Shape()
	var shape Shape
	own := ends.Count() // matrices of the groups
	switch {
	case ends.Rank() == 1 && len(a) == 2 && len(b) == 3:
		shape, own = Shape{a[0], b[2]}, b[0]
	case ends.Rank() == 1 && len(a) == 2 && len(b) == 2:
		shape = Shape{own, a[0], b[1]}
	case ends.Rank() == 1 && len(a) == 3 && len(b) == 2:
		shape, own = Shape{a[1], b[1]}, a[0]
	default:
		return failf(op, ErrRank, "%v and %v with ends %v: want 2 and 3 dimensions, 2 and 2, or 3 and 2, and 1 of ends", a, b, ends.layout.Shape())
	}
	if k, k2 := a[len(a)-1], b[len(b)-2]; k != k2 {
		return failf(op, ErrShape, "%v and %v: %d columns and %d rows", a, b, k, k2)
	}
	if count := ends.Count(); own != count {
		return failf(op, ErrShape, "%v and %v: %d matrices and %d ends", a, b, own, count)
	}
	ends = ends.kept()
	out := t.produce(op, shape, func(out ops.View) error {
		return matmul.Grouped(t.dev.stream, out, t.view(), u.view(), ends.view(), matmul.Options{Precision: t.dev.MatMulPrecision()})
	})
	return out.from(op, grad2(func(g, x, y, out *Tensor) (*Tensor, *Tensor) {
		return g.GroupedMatMul(y.T(), ends), x.T().GroupedMatMul(g, ends)
	}), t, u).saves(ends)
}
