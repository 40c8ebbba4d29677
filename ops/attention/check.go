package attention

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
)

// operand is a contiguous operand, and the type and shape that it has to have.
type operand struct {
	name  string
	v     ops.View
	d     dtype.DType
	shape layout.Shape
	may   bool // be left out, with no type
}

// checkOperands checks types, shapes, and that the operands are contiguous.
func checkOperands(list ...operand) error {
	for _, c := range list {
		switch {
		case c.may && c.v.DType == 0:
		case c.v.DType != c.d:
			return fmt.Errorf("%w: the %s is of type %v, want %v", ops.ErrDType, c.name, c.v.DType, c.d)
		case !c.v.Layout.Shape().Equal(c.shape) || !c.v.Layout.IsContiguous():
			return fmt.Errorf("%w: the %s is %v, want %v, contiguous",
				layout.ErrShape, c.name, c.v.Layout, c.shape)
		}
	}
	return nil
}

// check checks that the operands of a problem go together, and its sequences.
func (p *Problem) check() error {
	q, k, v := p.Q.Layout.Shape(), p.K.Layout.Shape(), p.V.Layout.Shape()
	rank, heads := 5, 1
	if p.Packed {
		rank, heads = 4, 0
	}
	d := p.Q.DType
	switch {
	case !d.IsFloat():
		return fmt.Errorf("%w: queries of type %v", ops.ErrDType, d)
	case p.K.DType != d || p.V.DType != d:
		return fmt.Errorf("%w: queries of type %v, keys %v and values %v",
			ops.ErrDType, d, p.K.DType, p.V.DType)
	case len(q) != rank || len(k) != 4 || len(v) != 4:
		return fmt.Errorf("%w: queries %v of %d dimensions, keys %v and values %v of 4",
			layout.ErrRank, q, rank, k, v)
	case !k[:3].Equal(v[:3]) || k[1] != q[heads] || k[3] != q[rank-1]:
		return fmt.Errorf("%w: queries %v, keys %v and values %v", layout.ErrShape, q, k, v)
	case p.Sequences == nil && p.Table.DType == 0 && !p.Packed && k[0] != q[0]:
		return fmt.Errorf("%w: queries %v and keys %v of other batches", layout.ErrShape, q, k)
	}
	if err := p.checkSequences(); err != nil {
		return err
	}
	n := p.sizes()
	of := layout.Shape{n.batches, n.heads, n.groups, 1, 1}
	mask := layout.Shape{n.batches, n.heads, n.groups, n.s, n.keys}
	sum := d.Compute()
	for _, c := range []operand{
		{"slopes", p.Slopes, sum, of, true},
		{"sinks", p.Sinks, sum, of, true},
		{"mask", p.Mask, sum, mask, true},
	} {
		if err := c.checkBroadcast(); err != nil {
			return err
		}
	}
	return nil
}

// checkBroadcast checks an operand that is broadcast, and not contiguous. A mask may be of type U8.
func (c *operand) checkBroadcast() error {
	shape := c.v.Layout.Shape()
	switch {
	case c.v.DType == 0:
		return nil
	case c.v.DType != c.d && (c.name != "mask" || c.v.DType != dtype.U8):
		return fmt.Errorf("%w: %s of type %v, want %v", ops.ErrDType, c.name, c.v.DType, c.d)
	case len(shape) != len(c.shape):
		return fmt.Errorf("%w: %s %v, want what is broadcast to %v",
			layout.ErrRank, c.name, shape, c.shape)
	}
	for i, n := range shape {
		if n != 1 && n != c.shape[i] {
			return fmt.Errorf("%w: %s %v, want what is broadcast to %v",
				layout.ErrBroadcast, c.name, shape, c.shape)
		}
	}
	return nil
}

// checkResults checks the result and the log-sum-exps of [Forward].
func (p *Problem) checkResults(out, logs ops.View) error {
	q := p.Q.Layout.Shape()
	rows := q[:len(q)-1]
	return checkOperands(
		operand{"result", out, p.Q.DType, append(slices.Clone(rows), p.V.Layout.Shape()[3]), false},
		operand{"log-sum-exp", logs, p.Q.DType.Compute(), rows, false},
	)
}

// checkGradients checks the operands of [Backward] against those of the problem.
func (p *Problem) checkGradients(g *Gradients) error {
	q, v := p.Q.Layout.Shape(), p.V.Layout.Shape()
	d, sum := p.Q.DType, p.Q.DType.Compute()
	return checkOperands(
		operand{"gradient of the queries", g.Q, d, q, true},
		operand{"gradient of the keys", g.K, d, p.K.Layout.Shape(), true},
		operand{"gradient of the values", g.V, d, v, g.K.DType == 0},
		operand{"gradient of the result", g.Out, d, append(slices.Clone(q[:4]), v[3]), false},
		operand{"log-sum-exp", g.LSE, sum, q[:4], false},
		operand{"delta", g.Delta, sum, q[:4], false},
	)
}

// checkDelta checks the operands of [Delta].
func checkDelta(out, grad, result, ofLSE ops.View) error {
	shape, d := result.Layout.Shape(), result.DType
	switch {
	case !d.IsFloat():
		return fmt.Errorf("%w: a result of type %v", ops.ErrDType, d)
	case len(shape) == 0:
		return fmt.Errorf("%w: a result %v, which has no rows", layout.ErrRank, shape)
	}
	rows := shape[:len(shape)-1]
	return checkOperands(
		operand{"result", result, d, shape, false},
		operand{"gradient of the result", grad, d, shape, false},
		operand{"delta", out, d.Compute(), rows, false},
		operand{"gradient of the log-sum-exp", ofLSE, d.Compute(), rows, true},
	)
}
