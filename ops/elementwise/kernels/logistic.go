package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
)

// What follows is for results of 16 bits and less: right to 2^-16, with no branches and no division, so
// that memory is what it waits for.

const logisticEnd = 110 // exp(-110) is 0 in float32

// logisticParts returns e = exp(-|x|) and r = 1/(1 + e), of which the logistic function of |x| is r, that
// of -|x| is e·r, and the slope of both e·r². Those of NaN may be any number.
func logisticParts(x float32) (e, r float32) {
	a := min(dsl.Abs(x), logisticEnd)
	z := dsl.FMA(-math.Log2E, a, toInteger+low)
	f := dsl.FMA(-math.Log2E, a, toInteger+low-z)
	// 2^f, 2^low times as large: then its exponent is one of normal numbers.
	q := dsl.FMA(float32(0.00958285294), f, 0.0559064262)
	q = dsl.FMA(q, f, 0.240240991)
	q = dsl.FMA(q, f, 0.693124175)
	q = dsl.FMA(q, f, 1)
	e = math.Float32frombits(math.Float32bits(z)<<23+math.Float32bits(q)) * 0x1p-64
	d := 1 + e
	r = math.Float32frombits(0x7EF311C7 - math.Float32bits(d)) // about 1/d, and to 2^-9 by a step that evens errors out
	r *= dsl.FMA(-d, r, 2.00173)
	step := dsl.FMA(-d, r, 1)
	return e, dsl.FMA(r, dsl.FMA(step, step, step), r)
}

// logistic is 1/(1 + exp(-x)), and any number of NaN.
func logistic(x float32) float32 {
	e, r := logisticParts(x)
	var over float32 = 1
	if x < 0 {
		over = e
	}
	return over * r
}

// SigmoidShort is [Sigmoid] for results of 16 bits and less.
func SigmoidShort(x float32) float32 {
	s := logistic(x)
	if x != x {
		return x
	}
	return s
}

// SiluShort is [Silu] for results of 16 bits and less.
func SiluShort(x float32) float32 { return x * logistic(x) }

// GeluShort is [Gelu] for results of 16 bits and less.
func GeluShort(x float32) float32 {
	const c, d = 2 * 0.7978845608028654, 0.044715
	return x * logistic(x*dsl.FMA(x*x, c*d, c))
}

// SiluSlopeShort is [SiluSlope] for results of 16 bits and less.
func SiluSlopeShort(g, x float32) float32 {
	x = min(max(x, -logisticEnd), logisticEnd)
	return g * slopeShort(x, x, 1)
}

// GeluSlopeShort is [GeluSlope] for results of 16 bits and less.
func GeluSlopeShort(g, x float32) float32 {
	const c, d, end = 2 * 0.7978845608028654, 0.044715, 30
	x = min(max(x, -end), end) // beyond, the slope is 0 or 1
	z := x * x
	return g * slopeShort(x, x*dsl.FMA(z, c*d, c), dsl.FMA(z, 3*c*d, c))
}

// slopeShort is the slope of x times the logistic function of u, which has a slope itself.
func slopeShort(x, u, slope float32) float32 {
	e, r := logisticParts(u)
	er := e * r
	s := r
	if u < 0 {
		s = er
	}
	return dsl.FMA(x*slope, er*r, s)
}
