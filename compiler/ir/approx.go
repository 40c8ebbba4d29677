package ir

import "math"

// Approx computes an operation of [RuleApprox]; y counts for a division only.
// The result is the exact one rounded, but for a few in 2^29: the best that a
// target could do. What each target's may be off by is stated in package
// dsl/fast.
func Approx(op Op, x, y float32) float32 {
	a, b := float64(x), float64(y)
	switch op {
	case OpApproxExp2:
		return float32(math.Exp2(a))
	case OpApproxLog2:
		return float32(math.Log2(a))
	case OpApproxSin:
		return float32(math.Sin(a))
	case OpApproxCos:
		return float32(math.Cos(a))
	case OpApproxTanh:
		return float32(math.Tanh(a))
	case OpApproxRsqrt:
		return float32(1 / math.Sqrt(a))
	case OpApproxSqrt:
		return float32(math.Sqrt(a))
	case OpApproxRecip:
		return 1 / x
	case OpApproxDiv:
		return float32(a / b)
	}
	return float32(math.NaN())
}
