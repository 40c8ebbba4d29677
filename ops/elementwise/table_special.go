package elementwise

import (
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/elementwise/kernels"
)

// More functions of one operand, of two, and of an operand and two numbers.
var (
	Asinh   = unary("asinh", kernels.Asinh[float32], ops.Floats)
	Acosh   = unary("acosh", kernels.Acosh[float32], ops.Floats)
	Atanh   = unary("atanh", kernels.Atanh[float32], ops.Floats)
	Digamma = unary("digamma", kernels.Digamma[float32], ops.Floats)

	Remainder = binary("remainder", kernels.Remainder[float32], ops.Floats).ints(kernels.RemainderInt[int32])
	LogAddExp = binary("logaddexp", kernels.LogAddExp[float32], ops.Floats)

	Zeta = scaled("zeta", kernels.Zeta[float32], ops.Floats)
	// Mish is x·tanh(log(1 + exp(x))).
	Mish = unary("mish", kernels.Mish[float32], ops.Floats)
)
