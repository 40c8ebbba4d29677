package ops

import (
	"fmt"

	"errors"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
)

// SameType is the error of an operation whose operands have different element types.
func SameType(op string, a, b View) error {
	if a.DType != b.DType {
		return fmt.Errorf("%w: %s of %v and %v", ErrDType, op, a.DType, b.DType)
	}
	return nil
}

// SameShape is the error of an operation whose operands have different shapes.
func SameShape(op string, a, b layout.Shape) error {
	if !a.Equal(b) {
		return fmt.Errorf("%w: %s of %v and %v", layout.ErrShape, op, a, b)
	}
	return nil
}

// ErrDType is what an operation says that does not take an element type.
var ErrDType = errors.New("unsupported element type")

// Unsupported is the error of an operation without a row for a type.
func Unsupported(op string, d dtype.DType, want string) error {
	return fmt.Errorf("%w: %s of %s: it is for %s", ErrDType, op, d, want)
}

// ErrEmpty is what a reduction says of no elements if it has no result for them.
var ErrEmpty = errors.New("no elements")
