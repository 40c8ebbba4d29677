package ops

import (
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
)

// Functions that kernels of several families are compiled with.
var (
	madReal, madInt = jit.Func(kernels.MadReal[float32]), jit.Func(kernels.MadInt[int32])

	// AddFn and DivFn are instances of a sum and of a quotient.
	AddFn, DivFn = jit.Func(kernels.Add[float32]), jit.Func(kernels.Div[float32])
)

// MulAddFn is the function that adds a product to a sum.
func MulAddFn(c dtype.DType) *jit.Fn {
	f := madReal
	if c.IsInt() {
		f = madInt
	}
	return f.As(FuncType(3, c.Type(), c.Type()))
}
