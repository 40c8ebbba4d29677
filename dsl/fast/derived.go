package fast

// The functions of this file are compiled from their bodies: one instruction and
// a few products. Conversions round the products, so that Go does not contract
// them on some machines only.

const (
	log2e  = 0x1.715476p+0 // 1/ln 2
	ln2    = 0x1.62e43p-1
	log102 = 0x1.344136p-2 // log10 of 2
)

// Exp returns e^x, or 0 where that is below 2^-126, as [Exp2] does.
//
// Error: 2 + |1.2·x| ulp on NVIDIA, of which the second part, from the product
// x/ln 2, is everywhere.
func Exp(x float32) float32 { return Exp2(float32(x * log2e)) }

// Log returns the natural logarithm of x.
//
// Error: on NVIDIA, 2^-22 for x between ½ and 2, and 5 ulp elsewhere.
func Log(x float32) float32 { return float32(Log2(x) * ln2) }

// Log10 returns the decimal logarithm of x.
//
// Error: on NVIDIA, 2^-22 for x between ½ and 2, and 5 ulp elsewhere.
func Log10(x float32) float32 { return float32(Log2(x) * log102) }

// Pow returns x^y for x not below zero, as 2^(y·log2 x); for others it is NaN,
// and so it is for 0^0, ∞^0 and 1^∞, where a product has no value. Below 2^-126 it may be 0.
//
// Error: grows with |y·log2 x|, of which each unit costs about two ulp.
func Pow(x, y float32) float32 { return Exp2(float32(y * Log2(x))) }

// Tan returns the tangent of x, in radians.
//
// Error: that of [Sin] and [Cos], so that nothing is promised near the poles.
func Tan(x float32) float32 { return float32(Sin(x) * Recip(Cos(x))) }

// Sigmoid returns 1/(1 + e^-x).
//
// Error: 4 + |1.2·x| ulp on NVIDIA for x below zero, 4 ulp above.
func Sigmoid(x float32) float32 { return Recip(1 + Exp(-x)) }
