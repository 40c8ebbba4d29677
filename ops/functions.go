package ops

import (
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
)

// Functions that kernels of several families are compiled with.
var (
	mulAddReal, mulAddInt = NewGenericFunc(kernels.MadReal[C]), NewGenericFunc(kernels.MadInt[I])

	mulAddInt8, mulAddUint8 = jit.Func(kernels.MadBytes[int32]), jit.Func(kernels.MadBytes[uint32])
	mulAddPairs             = jit.Func(kernels.MadPairs)

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

// MulAddWordsFn is the function that adds the products of the elements of words of 32 bits to a sum
// of the words' type: of bytes of I32 or U32, and of pairs of bfloat16 in the bits of F32.
func MulAddWordsFn(c dtype.DType) *jit.Fn {
	switch c {
	case dtype.F32:
		return mulAddPairs
	case dtype.U32:
		return mulAddUint8
	}
	return mulAddInt8
}
