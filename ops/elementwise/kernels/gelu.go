package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
)

// GeluErf is x times the normal distribution function of x.
func GeluErf[C dsl.Real](x C) C {
	if wide := C(1) + C(0x1p-40); wide > 1 {
		return x * 0.5 * dsl.Erfc(-x*(math.Sqrt2/2))
	}
	return C(geluErf32(float32(x)))
}

// What follows has no branches and no division, and so many fewer operations than dsl.Erfc
// that memory is what it waits for.

const (
	toInteger = 0x1.8p23 // added to and taken from a number below 2^22 leaves the nearest integer, and the last bits of the sum hold it
	ln2High   = 0x1.62e4p-1
	geluEnd   = 14.5 // the distribution function of less is 0
)

// geluErf32 is GeluErf within 11 ulps. With u = |x|, exp(u²/2) times the distribution
// function of -u is smooth: times u+k it is a minimax polynomial in (u-k)/(u+k) (the
// substitution of Shepherd and Laframboise, as of dsl.Erfc).
func geluErf32(x float32) float32 {
	const k = 3.75
	u := min(dsl.Abs(x), geluEnd)
	a := u + k
	r := math.Float32frombits(0x7EF311C7 - math.Float32bits(a)) // about 1/a, and to 2^-9 by a step that evens errors out
	r *= dsl.FMA(-a, r, 2.00173)
	e := dsl.FMA(-a, r, 1)
	r = dsl.FMA(r, dsl.FMA(e, e, e), r)
	t := dsl.FMA(-2*k, r, 1)
	p := float32(0x1.d0fda8p-12)
	p = dsl.FMA(p, t, 0x1.0b313cp-11)
	p = dsl.FMA(p, t, -0x1.113884p-8)
	p = dsl.FMA(p, t, 0x1.3a979p-10)
	p = dsl.FMA(p, t, 0x1.33237cp-5)
	p = dsl.FMA(p, t, -0x1.36508ep-3)
	p = dsl.FMA(p, t, 0x1.6969p-2)
	p = dsl.FMA(p, t, -0x1.2d2704p-1)
	p = dsl.FMA(p, t, 0x1.80268cp-1)
	// exp(-u²/2) = 2^n·exp(f/2), of the square without rounding it.
	z := dsl.FMA(-math.Log2E/2*u, u, toInteger+low)
	n := z - (toInteger + low)
	f := dsl.FMA(-u, u, n*(-2*ln2High))
	f = dsl.FMA(n, 2*(ln2High-math.Ln2), f)
	q := dsl.FMA(float32(0x1.106254p-12), f, 0x1.572a68p-9)
	q = dsl.FMA(q, f, 0x1.5557bp-6)
	q = dsl.FMA(q, f, 0x1.fffdfcp-4)
	q = dsl.FMA(q, f, 0.5)
	q = dsl.FMA(q, f, 1)
	return timesNormal(x, u, r*p*q, z)
}

// GeluErfShort is GeluErf for results of 16 bits and less. The logarithm of the
// distribution function is a polynomial, which is right to 2^-13 for x above -6, and below,
// where numbers of type F16 are multiples of 2^-24, to 2^-10.
func GeluErfShort(x float32) float32 {
	u := min(dsl.Abs(x), geluEnd)
	g := float32(2.960559433e-8)
	g = dsl.FMA(g, u, -1.878108214e-6)
	g = dsl.FMA(g, u, 5.098151624e-5)
	g = dsl.FMA(g, u, -0.0007836066786)
	g = dsl.FMA(g, u, 0.007666296599)
	g = dsl.FMA(g, u, -0.05160992154)
	g = dsl.FMA(g, u, -0.4615298439)
	g = dsl.FMA(g, u, -1.149756664)
	g = dsl.FMA(g, u, -1.000117179)
	// 2^g, 2^low times as large: then its exponent is one of normal numbers.
	z := g + (toInteger + low)
	f := g - (z - (toInteger + low))
	q := dsl.FMA(float32(0.05517163661), f, 0.2426111366)
	q = dsl.FMA(q, f, 0.6932609974)
	q = dsl.FMA(q, f, 0.9999280757)
	return timesNormal(x, u, q, z)
}

const low = 64 // the power of 2 that numbers with small exponents are scaled by in between

// timesNormal is x times the distribution function of x, which is q·2^n for -u = -|x|, with
// n+low+toInteger for z.
func timesNormal(x, u, q, z float32) float32 {
	q = math.Float32frombits(math.Float32bits(z)<<23+math.Float32bits(q)) * 0x1p-64
	half := 0.5 * x
	return dsl.FMA(-u, q, half+dsl.Abs(half)) // NaN of -Inf, as -Inf times 0 is
}
