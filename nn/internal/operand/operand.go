package operand

import (
	"fmt"

	"github.com/gokiln/kiln/tensor"
)

// Floats returns what is wrong with operands, as a tensor that holds the error: the first error
// among them, one that is nil, or one that has not floating-point numbers with arithmetic, of the
// first one's type and on its device. It is nil if nothing is.
func Floats(op string, of ...*tensor.Tensor) *tensor.Tensor {
	for i, x := range of {
		switch {
		case x == nil:
			return Fail(op, tensor.ErrArgument, "operand %d is a nil tensor", i)
		case x.Err() != nil:
			return x
		case !x.DType().IsFloat() || !x.DType().Computes():
			return Fail(op, tensor.ErrDType, "%v of %s, want floating-point numbers that compute", x.Shape(), x.DType())
		case x.DType() != of[0].DType():
			return Fail(op, tensor.ErrDTypeMismatch, "%v of %s and %v of %s", of[0].Shape(), of[0].DType(), x.Shape(), x.DType())
		case x.Device() != of[0].Device():
			return Fail(op, tensor.ErrDevice, "%s and %s", of[0].Device(), x.Device())
		}
	}
	return nil
}

// Fail is a tensor that holds an error of a kind.
func Fail(op string, kind error, format string, args ...any) *tensor.Tensor {
	return tensor.Fail(op, fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...)))
}
