package ops

import (
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
)

// Functions that kernels of several families are compiled with.
var (
	mulAddReal, mulAddInt = NewGenericFunc(kernels.MadReal[C]), NewGenericFunc(kernels.MadInt[I])

	Add = NewGenericFunc(kernels.Add[C]) // a+b
	Div = NewGenericFunc(kernels.Div[C]) // a/b
)

// MulAddFn is the function that adds a product to a sum.
func MulAddFn(c dtype.DType) *jit.Fn {
	if c.IsInt() {
		return mulAddInt.Of(TypeArgs{I: c})
	}
	return mulAddReal.In(c)
}
