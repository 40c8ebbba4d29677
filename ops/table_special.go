package ops

import "github.com/gokiln/kiln/ops/kernels"

// More functions of one operand, one of two, and one of an operand and two numbers.
var (
	Asinh   = unary("asinh", kernels.Asinh[float32], floats)
	Acosh   = unary("acosh", kernels.Acosh[float32], floats)
	Atanh   = unary("atanh", kernels.Atanh[float32], floats)
	Digamma = unary("digamma", kernels.Digamma[float32], floats)

	Remainder = binary("remainder", kernels.Remainder[float32], floats).ints(kernels.RemainderInt[int32])

	Zeta = scaled("zeta", kernels.Zeta[float32], floats)
)
