package ops

import "github.com/gokiln/kiln/ops/kernels"

// More functions of one operand, of two, and of an operand and two numbers.
var (
	Asinh   = unary("asinh", kernels.Asinh[float32], Floats)
	Acosh   = unary("acosh", kernels.Acosh[float32], Floats)
	Atanh   = unary("atanh", kernels.Atanh[float32], Floats)
	Digamma = unary("digamma", kernels.Digamma[float32], Floats)

	Remainder = binary("remainder", kernels.Remainder[float32], Floats).ints(kernels.RemainderInt[int32])
	LogAddExp = binary("logaddexp", kernels.LogAddExp[float32], Floats)

	Zeta = scaled("zeta", kernels.Zeta[float32], Floats)
)
