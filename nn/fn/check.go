package fn

import (
	"embed"
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tensor"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// bad returns the first error among operands, as a tensor, or what is wrong with their types:
// floating-point, and one of all. It is nil if nothing is.
func bad(op string, of ...*tensor.Tensor) *tensor.Tensor {
	for i, x := range of {
		switch {
		case x == nil:
			return failf(op, tensor.ErrArgument, "operand %d is a nil tensor", i)
		case x.Err() != nil:
			return x
		case !x.DType().IsFloat():
			return failf(op, tensor.ErrDType, "%v of %s, want floating-point numbers", x.Shape(), x.DType())
		case x.DType() != of[0].DType():
			return failf(op, tensor.ErrDTypeMismatch, "%v of %s and %v of %s", of[0].Shape(), of[0].DType(), x.Shape(), x.DType())
		case x.Device() != of[0].Device():
			return failf(op, tensor.ErrDevice, "%s and %s", of[0].Device(), x.Device())
		}
	}
	return nil
}

// failf is a tensor that holds an error of a kind.
func failf(op string, kind error, format string, args ...any) *tensor.Tensor {
	return tensor.Fail(op, fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...)))
}

// dim is a dimension that may count from the end; ok is false where there is none such.
func dim(d, rank int) (int, bool) {
	if d < 0 {
		d += rank
	}
	return d, d >= 0 && d < rank
}

// along is a shape of ones with n at dimension d.
func along(rank, d, n int) []int {
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = 1
	}
	shape[d] = n
	return shape
}
