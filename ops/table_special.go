package ops

import "github.com/gokiln/kiln/ops/kernels"

// More functions of one operand, of two, and of an operand and two numbers.
var (
	Asinh   = unary("asinh", kernels.Asinh[float32], floats)
	Acosh   = unary("acosh", kernels.Acosh[float32], floats)
	Atanh   = unary("atanh", kernels.Atanh[float32], floats)
	Digamma = unary("digamma", kernels.Digamma[float32], floats)

	Remainder = binary("remainder", kernels.Remainder[float32], floats).ints(kernels.RemainderInt[int32])
	LogAddExp = binary("logaddexp", kernels.LogAddExp[float32], floats)

	Zeta = scaled("zeta", kernels.Zeta[float32], floats)
)
