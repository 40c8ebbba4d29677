package fast

import "math"

// The functions of this file are instructions where the target has them.

// Exp2 returns 2^x, or 0 where that is below 2^-126: subnormal numbers take some devices three
// instructions more.
//
// Error: 2 ulp on NVIDIA.
//
//kiln:intrinsic
func Exp2(x float32) float32 { return float32(math.Exp2(float64(x))) }

// Log2 returns the binary logarithm of x.
//
// Error: on NVIDIA, 2^-22 for x between ½ and 2, and 2^-22 of the result
// elsewhere.
//
//kiln:intrinsic
func Log2(x float32) float32 { return float32(math.Log2(float64(x))) }

// Sin returns the sine of x, in radians. Large arguments are not reduced with
// care: use [github.com/gokiln/kiln/dsl.Sin] for them.
//
// Error: on NVIDIA, 2^-20.5 for |x| up to 2π, 2^-14.7 up to 100π, anything
// beyond.
//
//kiln:intrinsic
func Sin(x float32) float32 { return float32(math.Sin(float64(x))) }

// Cos returns the cosine of x, in radians, with the errors of [Sin].
//
//kiln:intrinsic
func Cos(x float32) float32 { return float32(math.Cos(float64(x))) }

// Tanh returns the hyperbolic tangent of x.
//
// Error: 2^-11 of the result on NVIDIA, which is enough for an activation. Before
// sm_80 it is computed from [Exp2].
//
//kiln:intrinsic
func Tanh(x float32) float32 { return float32(math.Tanh(float64(x))) }

// Rsqrt returns 1/√x.
//
// Error: 2^-22.9 of the result on NVIDIA.
//
//kiln:intrinsic
func Rsqrt(x float32) float32 { return float32(1 / math.Sqrt(float64(x))) }

// Sqrt returns √x.
//
// Error: 2^-23 of the result on NVIDIA.
//
//kiln:intrinsic
func Sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// Recip returns 1/x.
//
// Error: 1 ulp on NVIDIA.
//
//kiln:intrinsic
func Recip(x float32) float32 { return 1 / x }

// Div returns x/y.
//
// Error: 2 ulp on NVIDIA, for all arguments. x·[Recip](y) takes fewer
// instructions, but overflows and underflows where x/y does not.
//
//kiln:intrinsic
func Div(x, y float32) float32 { return x / y }
