package dsl

import "math"

// Logarithms: x = 2^e·(1+f) with 1+f between √½ and √2. log(1+f) comes as a sum
// of two numbers, the first rounded, from a minimax polynomial: in f for
// float32, and in s = f/(2+f) for float64 (as in fdlibm's e_log.c, Sun 1993,
// where the form f - (f²/2 - s(f²/2 + R)) is explained).

// Log returns the natural logarithm of x.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Log[T Real](x T) T {
	if isFloat32(x) {
		return T(log32(float32(x)))
	}
	return T(log64(float64(x)))
}

// Log2 returns the binary logarithm of x.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Log2[T Real](x T) T {
	if isFloat32(x) {
		return T(log232(float32(x)))
	}
	return T(log264(float64(x)))
}

// Log10 returns the decimal logarithm of x.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Log10[T Real](x T) T {
	if isFloat32(x) {
		return T(log1032(float32(x)))
	}
	return T(log1064(float64(x)))
}

// Log1p returns the natural logarithm of 1 + x, accurate for small x too.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Log1p[T Real](x T) T {
	if isFloat32(x) {
		return T(log1p32(float32(x)))
	}
	return T(log1p64(float64(x)))
}

// logsplit32 returns e and f of a finite x > 0.
func logsplit32(x float32) (e, f float32) {
	bias := int32(127)
	if x < 0x1p-126 {
		x = float32(x * 0x1p23)
		bias += 23
	}
	// Shifting the bits so that √½ becomes a power of two rounds the exponent.
	b := math.Float32bits(x) + (0x3F800000 - 0x3F3504F3)
	m := math.Float32frombits(b&0x007FFFFF + 0x3F3504F3)
	return float32(int32(b>>23) - bias), m - 1
}

// logsum32 returns log(1+f) as an unevaluated sum, to 2^-27 of its value and
// 2^-28 at the ends.
func logsum32(f float32) (hi, lo float32) {
	p := FMA32(-0x1.39181ep-4, f, 0x1.057cb6p-3)
	p = FMA32(p, f, -0x1.0d8268p-3)
	p = FMA32(p, f, 0x1.22d56p-3)
	p = FMA32(p, f, -0x1.547214p-3)
	p = FMA32(p, f, 0x1.99a038p-3)
	p = FMA32(p, f, -0x1.000228p-2)
	p = FMA32(p, f, 0x1.555554p-2)
	ff := float32(f * f)
	h := float32(0.5 * ff)
	hi = f - h
	return hi, FMA32(float32(ff*f), p, (f-hi)-h)
}

// ln2 cut so that its product with an exponent is exact, and what is left.
const (
	ln2cut32     = 0x1.62e4p-1
	ln2rest32    = 0x1.7f7d1cp-20
	ln2cut64     = 0x1.62e42fefa38p-1
	ln2rest64    = 0x1.ef35793c7673p-45
	log102cut32  = 0x1.3442p-2
	log102rest32 = -0x1.95ec1p-19
	log102cut64  = 0x1.34413509f78p-2
	log102rest64 = 0x1.fef311f12b358p-46
)

// logedge32 is the logarithm, to any base, of what is not a finite x > 0.
func logedge32(x float32) float32 {
	if x == 0 {
		return -inf32()
	}
	if x > 0 {
		return x
	}
	return nan32()
}

// logjoin32 returns e·(cut + rest) + hi + lo.
func logjoin32(e, cut, rest, hi, lo float32) float32 {
	a := float32(e * cut)
	s := a + hi
	return s + (((a - s) + hi) + FMA32(e, rest, lo))
}

// log32 computes the common case for every x and then chooses, which costs
// threads less than parting. It cuts at ⅔, not at √½: e·ln 2 + log(1+f) then
// cancels less, so that neither needs a second part, and the exponent needs no
// shift, as the bits above the fraction are e·2^23.
func log32(x float32) float32 {
	a, shift := x, float32(0)
	if x < 0x1p-126 {
		a, shift = float32(x*0x1p23), -23
	}
	b := math.Float32bits(a)
	above := (b - 0x3F2AAAAB) & 0xFF800000
	f := math.Float32frombits(b-above) - 1
	p := FMA32(-0x1.080766p-3, f, 0x1.1e6626p-3)
	p = FMA32(p, f, -0x1.f31072p-4)
	p = FMA32(p, f, 0x1.1ed736p-3)
	p = FMA32(p, f, -0x1.559dd2p-3)
	p = FMA32(p, f, 0x1.99d026p-3)
	p = FMA32(p, f, -0x1.fffefp-3)
	p = FMA32(p, f, 0x1.555506p-2)
	p = FMA32(p, f, -0.5)
	y := FMA32(float32(f*f), p, f)
	y = FMA32(FMA32(float32(int32(above)), 0x1p-23, shift), ln2f32, y)
	if b >= 0x7F800000 { // infinite, NaN, or with a sign
		y = FMA32(x, inf32(), inf32())
	}
	if x == 0 {
		y = -inf32()
	}
	return y
}

func log232(x float32) float32 {
	if !(x > 0 && x < inf32()) {
		return logedge32(x)
	}
	const k, kLo = 0x1.715476p+0, 0x1.4ae0cp-26 // 1/ln 2
	e, f := logsplit32(x)
	hi, lo := logsum32(f)
	p := float32(hi * k)
	return logjoin32(e, 1, 0, p, FMA32(hi, k, -p)+FMA32(hi, kLo, float32(lo*k)))
}

func log1032(x float32) float32 {
	if !(x > 0 && x < inf32()) {
		return logedge32(x)
	}
	const k, kLo = 0x1.bcb7b2p-2, -0x1.5b235ep-27 // 1/ln 10
	e, f := logsplit32(x)
	hi, lo := logsum32(f)
	p := float32(hi * k)
	return logjoin32(e, log102cut32, log102rest32, p, FMA32(hi, k, -p)+FMA32(hi, kLo, float32(lo*k)))
}

func log1p32(x float32) float32 {
	if !(x > -1 && x < inf32()) {
		if x == -1 {
			return -inf32()
		}
		return logedge32(x)
	}
	if x > -0.29 && x < 0.41 {
		if Abs(x) < 0x1p-25 {
			return x
		}
		hi, lo := logsum32(x)
		return hi + lo
	}
	u := 1 + x
	c := x - (u - 1) // what the sum lost
	if x > 1 {
		c = 1 - (u - x)
	}
	e, f := logsplit32(u)
	hi, lo := logsum32(f)
	return logjoin32(e, ln2cut32, ln2rest32, hi, lo+c/u)
}

// logsplit64 returns e and f of a finite x > 0.
func logsplit64(x float64) (e, f float64) {
	bias := int32(1023)
	if x < 0x1p-1022 {
		x = float64(x * 0x1p52)
		bias += 52
	}
	b := math.Float64bits(x) + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
	m := math.Float64frombits(b&0x000FFFFFFFFFFFFF + 0x3FE6A09E667F3BCD)
	return float64(int32(b>>52) - bias), m - 1
}

// logsum64 returns log(1+f) as an unevaluated sum, to 2^-57 of its value.
func logsum64(f float64) (hi, lo float64) {
	s := f / (2 + f)
	z := float64(s * s)
	r := FMA64(0x1.2f1108ec2937bp-3, z, 0x1.39a09b18a505cp-3)
	r = FMA64(r, z, 0x1.746649a30fa57p-3)
	r = FMA64(r, z, 0x1.c71c51d7ae1c8p-3)
	r = FMA64(r, z, 0x1.249249422a628p-2)
	r = FMA64(r, z, 0x1.999999997f9f7p-2)
	r = FMA64(r, z, 0x1.5555555555593p-1)
	h := float64(float64(0.5*f) * f)
	hi = f - h
	return hi, FMA64(s, FMA64(z, r, h), (f-hi)-h)
}

func logedge64(x float64) float64 {
	if x == 0 {
		return -inf64()
	}
	if x > 0 {
		return x
	}
	return nan64()
}

// logjoin64 returns e·(cut + rest) + hi + lo.
func logjoin64(e, cut, rest, hi, lo float64) float64 {
	a := float64(e * cut)
	if a == 0 {
		return hi + lo
	}
	s := a + hi
	return s + (((a - s) + hi) + FMA64(e, rest, lo))
}

func log64(x float64) float64 {
	if !(x > 0 && x < inf64()) {
		return logedge64(x)
	}
	e, f := logsplit64(x)
	hi, lo := logsum64(f)
	return logjoin64(e, ln2cut64, ln2rest64, hi, lo)
}

func log264(x float64) float64 {
	if !(x > 0 && x < inf64()) {
		return logedge64(x)
	}
	const k, kLo = 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56 // 1/ln 2
	e, f := logsplit64(x)
	hi, lo := logsum64(f)
	p := float64(hi * k)
	return logjoin64(e, 1, 0, p, FMA64(hi, k, -p)+FMA64(hi, kLo, float64(lo*k)))
}

func log1064(x float64) float64 {
	if !(x > 0 && x < inf64()) {
		return logedge64(x)
	}
	const k, kLo = 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57 // 1/ln 10
	e, f := logsplit64(x)
	hi, lo := logsum64(f)
	p := float64(hi * k)
	return logjoin64(e, log102cut64, log102rest64, p, FMA64(hi, k, -p)+FMA64(hi, kLo, float64(lo*k)))
}

func log1p64(x float64) float64 {
	if !(x > -1 && x < inf64()) {
		if x == -1 {
			return -inf64()
		}
		return logedge64(x)
	}
	if x > -0.29 && x < 0.41 {
		if Abs(x) < 0x1p-54 {
			return x
		}
		hi, lo := logsum64(x)
		return hi + lo
	}
	u := 1 + x
	c := x - (u - 1) // what the sum lost
	if x > 1 {
		c = 1 - (u - x)
	}
	e, f := logsplit64(u)
	hi, lo := logsum64(f)
	return logjoin64(e, ln2cut64, ln2rest64, hi, lo+c/u)
}
