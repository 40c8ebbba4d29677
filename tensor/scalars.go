package tensor

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
)

// Operations of a tensor and a number, of which the number may be none of the tensor's type.

// number returns x in the type that elements are computed in. What an integer type has no number
// for is refused: a fraction that vanishes is a mistake.
func (t *Tensor) number(x float64) (Scalar, error) {
	if t.dtype.IsInt() && (x != math.Trunc(x) || rangeOf(t.dtype).side(x) != 0) {
		return Scalar{}, fmt.Errorf("%w: %v is no number of type %s: Cast the tensor to a type that has it", ErrArgument, x, t.dtype)
	}
	return dtype.FromFloat(t.dtype.Compute(), x), nil
}

// integers are those from low up to, but not including, end, which float64 has exactly.
type integers struct{ low, end float64 }

// rangeOf is the numbers of an integer type.
func rangeOf(dt DType) integers {
	low := dtype.FromFloat(dt, math.Inf(-1)).Float()
	return integers{low, low + math.Ldexp(1, dt.Bits())}
}

// side is -1 for a number below the integers, 1 for one above them, and else 0.
func (r integers) side(x float64) int {
	switch {
	case x < r.low:
		return -1
	case x >= r.end:
		return 1
	}
	return 0
}

// comparison is how elements are compared with a number. Integers are compared with the next one to
// a number that has a fraction, and what the answer is for a number that is below or above all of
// them, or between two where no integer stands for it, or NaN, is the same for all elements.
type comparison struct {
	op                  *elementwise.Elementwise
	next                func(x float64) float64
	below, above, never uint8
}

var (
	equals   = &comparison{op: elementwise.EqOf}
	differs  = &comparison{op: elementwise.NeOf, below: 1, above: 1, never: 1}
	isLess   = &comparison{op: elementwise.LtOf, next: math.Ceil, above: 1}
	isMost   = &comparison{op: elementwise.LeOf, next: math.Floor, above: 1}
	isLarger = &comparison{op: elementwise.GtOf, next: math.Floor, below: 1}
	isLeast  = &comparison{op: elementwise.GeOf, next: math.Ceil, below: 1}
)

// compared compares the elements with x: integers with the number itself, and floating-point
// numbers with x rounded to their type, as [Tensor.FullLike] has it.
func (t *Tensor) compared(c *comparison, x float64) *Tensor {
	op := c.op.Name()
	if bad := first(op, t); bad != nil {
		return bad
	}
	if !t.dtype.IsInt() {
		return t.apply(c.op, grad1(flat), []*Tensor{t}, dtype.FromFloat(t.dtype, x).Convert(t.dtype.Compute()))
	}
	if c.next != nil {
		x = c.next(x)
	}
	side := rangeOf(t.dtype).side(x)
	switch {
	case x != x || x != math.Trunc(x):
		return t.all(op, c.never)
	case side < 0:
		return t.all(op, c.below)
	case side > 0:
		return t.all(op, c.above)
	}
	return t.apply(c.op, grad1(flat), []*Tensor{t}, dtype.FromFloat(t.dtype, x))
}

// all is one truth for all elements.
func (t *Tensor) all(op string, truth uint8) *Tensor {
	return full(op, t.dev, dtype.New(truth), t.layout.Shape()).without(t)
}

// EqScalar is 1 where t = x and else 0, of type U8. Comparisons with a number are those of the
// numbers, whatever the type: an integer is less than 0.5 or it is not, and all of U8 are above -1.
// Of floating-point types x is rounded to the type, so that t equals [Tensor.FullLike] of x.
func (t *Tensor) EqScalar(x float64) *Tensor { return t.compared(equals, x) }

// NeScalar is 1 where t ≠ x and else 0, of type U8: see [Tensor.EqScalar].
func (t *Tensor) NeScalar(x float64) *Tensor { return t.compared(differs, x) }

// LtScalar is 1 where t < x and else 0, of type U8: see [Tensor.EqScalar].
func (t *Tensor) LtScalar(x float64) *Tensor { return t.compared(isLess, x) }

// LeScalar is 1 where t ≤ x and else 0, of type U8: see [Tensor.EqScalar].
func (t *Tensor) LeScalar(x float64) *Tensor { return t.compared(isMost, x) }

// GtScalar is 1 where t > x and else 0, of type U8: see [Tensor.EqScalar].
func (t *Tensor) GtScalar(x float64) *Tensor { return t.compared(isLarger, x) }

// GeScalar is 1 where t ≥ x and else 0, of type U8: see [Tensor.EqScalar].
func (t *Tensor) GeScalar(x float64) *Tensor { return t.compared(isLeast, x) }

// Clamp is t, but not below low and not above high: high where low is above it. Of integers, a
// bound that is infinite or beyond the type bounds nothing; one that is none of the type where the
// result would have to be it is an error of kind [ErrArgument].
func (t *Tensor) Clamp(low, high float64) *Tensor {
	if t.ofIntegers() {
		return t.between(elementwise.Clamp.Name(), low, high)
	}
	return t.scaled(elementwise.Clamp, gradClamp(low, high), low, high)
}

// MaximumScalar is the larger one of t and x: see [Tensor.Clamp].
func (t *Tensor) MaximumScalar(x float64) *Tensor {
	if t.ofIntegers() {
		return t.between(elementwise.MaximumOf.Name(), x, math.Inf(1))
	}
	return t.scaled(elementwise.MaximumOf, gradMaximumScalar(x), x, 0)
}

// MinimumScalar is the smaller one of t and x: see [Tensor.Clamp].
func (t *Tensor) MinimumScalar(x float64) *Tensor {
	if t.ofIntegers() {
		return t.between(elementwise.MinimumOf.Name(), math.Inf(-1), x)
	}
	return t.scaled(elementwise.MinimumOf, gradMinimumScalar(x), x, 0)
}

// ofIntegers reports whether t has an integer type.
func (t *Tensor) ofIntegers() bool { return t != nil && t.dtype.IsInt() }

// between is integers between two bounds.
func (t *Tensor) between(op string, low, high float64) *Tensor {
	if bad := first(op, t); bad != nil {
		return bad
	}
	r := rangeOf(t.dtype)
	low = min(low, high) // NaN if one is
	for _, b := range []struct {
		x    float64
		free int // the side on which it bounds nothing
	}{{low, -1}, {high, 1}} {
		if side := r.side(b.x); side != b.free && (side != 0 || b.x != math.Trunc(b.x)) {
			return failf(op, ErrArgument, "%v is no number of type %s: Cast the tensor to a type that has it", b.x, t.dtype)
		}
	}
	return t.apply(elementwise.Clamp, grad1(flat), []*Tensor{t}, dtype.FromFloat(t.dtype, low), dtype.FromFloat(t.dtype, high))
}
