package dsl

// Error functions. Below ¾ erf is x + x·p(x²). Elsewhere
// (x+K)·exp(x²)·erfc(x) is smooth and slowly varying, and is a minimax
// polynomial in t = (x-K)/(x+K) (the substitution of Shepherd and Laframboise,
// Chebyshev approximation of (1+2x)exp(x²)erfc x, 1981).

// Erf returns the error function of x.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Erf[T Real](x T) T {
	if isFloat32(x) {
		return T(erf32(float32(x)))
	}
	return T(erf64(float64(x)))
}

// Erfc returns 1 - erf(x), accurate for large x too.
//
// Error: at most 1.1 ulp in float32, 1.1 ulp in float64.
//
//kiln:dispatch
func Erfc[T Real](x T) T {
	if isFloat32(x) {
		return T(erfc32(float32(x)))
	}
	return T(erfc64(float64(x)))
}

// erfp32 is erf(x)/x - 1 for z = x² up to one.
func erfp32(z float32) float32 {
	p := FMA32(0x1.4771eap-14, z, -0x1.a3515cp-11)
	p = FMA32(p, z, 0x1.53f224p-8)
	p = FMA32(p, z, -0x1.b7f71ap-6)
	p = FMA32(p, z, 0x1.ce2ce6p-4)
	p = FMA32(p, z, -0x1.81273ep-2)
	return FMA32(p, z, 0x1.06eba8p-3)
}

// erfcsum32 returns n, s and t with erfc(x) = (s + t)·2^n, for x from 0.72 to 10.2.
func erfcsum32(x float32) (n int32, s, t float32) {
	const k = 2
	// t = (x-k)/(x+k), and what the quotient lost.
	num, den := x-k, x+k
	numLo, denLo := (x-num)-k, (x-den)+k // x and k are of one size, or x is larger
	if x < k {
		numLo, denLo = x-(num+k), x-(den-k)
	}
	u := num / den
	rest := FMA32(-u, den, num) + FMA32(-u, denLo, numLo)
	p := FMA32(0x1.ac847p-13, u, -0x1.4acfe8p-11)
	p = FMA32(p, u, -0x1.e117fep-11)
	p = FMA32(p, u, 0x1.95bcd8p-9)
	p = FMA32(p, u, 0x1.a97df6p-8)
	p = FMA32(p, u, -0x1.607492p-6)
	p = FMA32(p, u, -0x1.2a8aa4p-5)
	p = FMA32(p, u, 0x1.1e2df4p-2)
	p = FMA32(p, u, -0x1.5fd386p-1)
	// The derivative of the polynomial makes good for the rest.
	w := FMA32(p, u, 0x1.058672p+0)
	wlo := FMA32(p, u, 0x1.058672p+0-w) + (-0x1.33d358p-26)
	slope := float32(0.25 * FMA32(den, FMA32(float32(2*x), w, float32(-0x1.20dd750429b6dp+0*den)), w))
	wlo = FMA32(rest, slope, wlo)
	// exp(-x²), with the square as a sum.
	h := float32(x * x)
	hlo := FMA32(x, x, -h)
	fn, r, lo := expred32(-h)
	lo -= hlo
	r2 := r + lo
	s, t = expsum32(r2, (r-r2)+lo)
	// (s + t)·(w + wlo)/den
	q := float32(s * w)
	qlo := FMA32(s, w, -q) + FMA32(s, wlo, float32(t*w))
	y := q / den
	return int32(fn), y, (FMA32(-y, den, q) + FMA32(-y, denLo, qlo)) / den
}

func erf32(x float32) float32 {
	a := Abs(x)
	if a < 0.75 {
		return FMA32(x, erfp32(float32(x*x)), x)
	}
	if !(a < 4) {
		if x != x {
			return x
		}
		return Copysign(float32(1), x)
	}
	n, s, t := erfcsum32(a)
	c := pow2f32(n)
	return Copysign(1-float32(c*(s+t)), x)
}

func erfc32(x float32) float32 {
	if x != x {
		return x
	}
	if Abs(x) < 0.75 {
		y := 1 - x
		return y + (((1 - y) - x) - float32(x*erfp32(float32(x*x))))
	}
	if x > 10.2 {
		return 0
	}
	if x < -4 {
		return 2
	}
	n, s, t := erfcsum32(Abs(x))
	if x > 0 {
		return scale32(s+t, n)
	}
	return 2 - float32(pow2f32(n)*(s+t))
}

// erfp64 is erf(x)/x - 1 for z = x² up to one.
func erfp64(z float64) float64 {
	p := FMA64(0x1.3b77baccbabd9p-33, z, -0x1.c49b715cc33d9p-30)
	p = FMA64(p, z, 0x1.131bc13361529p-26)
	p = FMA64(p, z, -0x1.638fe370932d1p-23)
	p = FMA64(p, z, 0x1.ba68fb7e2ed2cp-20)
	p = FMA64(p, z, -0x1.f4dcef944a6c3p-17)
	p = FMA64(p, z, 0x1.f9a3b93efb4eap-14)
	p = FMA64(p, z, -0x1.c02db9328c2c9p-11)
	p = FMA64(p, z, 0x1.565bcd2c60ab9p-8)
	p = FMA64(p, z, -0x1.b82ce31354c4ep-6)
	p = FMA64(p, z, 0x1.ce2f21a0458d7p-4)
	p = FMA64(p, z, -0x1.812746b037a25p-2)
	return FMA64(p, z, 0x1.06eba8214db69p-3)
}

// erfcsum64 returns n, s and t with erfc(x) = (s + t)·2^n, for x from 0.72 to 27.3.
func erfcsum64(x float64) (n int32, s, t float64) {
	const k = 4
	// t = (x-k)/(x+k), and what the quotient lost.
	num, den := x-k, x+k
	numLo, denLo := (x-num)-k, (x-den)+k // x and k are of one size, or x is larger
	if x < k {
		numLo, denLo = x-(num+k), x-(den-k)
	}
	u := num / den
	rest := FMA64(-u, den, num) + FMA64(-u, denLo, numLo)
	p := FMA64(-0x1.92810476e99dp-27, u, 0x1.1762e50c59c5p-30)
	p = FMA64(p, u, 0x1.fdb8b65b32a39p-24)
	p = FMA64(p, u, -0x1.449adfbb3364bp-24)
	p = FMA64(p, u, -0x1.c40b04f64f028p-21)
	p = FMA64(p, u, 0x1.7e513f27fdb9ep-20)
	p = FMA64(p, u, 0x1.3ae8d2c4c0814p-18)
	p = FMA64(p, u, -0x1.3c6f37af73568p-16)
	p = FMA64(p, u, -0x1.e7d5719d53fcp-19)
	p = FMA64(p, u, 0x1.72cdaf7fd7988p-13)
	p = FMA64(p, u, -0x1.dd284c945ac5bp-12)
	p = FMA64(p, u, -0x1.269b534f63e4cp-12)
	p = FMA64(p, u, 0x1.908f4731bebf6p-8)
	p = FMA64(p, u, -0x1.b00c052b73908p-6)
	p = FMA64(p, u, 0x1.38dbd2c8d3b87p-4)
	p = FMA64(p, u, -0x1.645fd8a4be179p-3)
	p = FMA64(p, u, 0x1.52cac23710377p-2)
	p = FMA64(p, u, -0x1.14eacb1ad02fp-1)
	p = FMA64(p, u, 0x1.8be202d26c701p-1)
	p = FMA64(p, u, -0x1.f3fe31ecb49cp-1)
	// The derivative of the polynomial makes good for the rest.
	w := FMA64(p, u, 0x1.18932bf08e154p+0)
	wlo := FMA64(p, u, 0x1.18932bf08e154p+0-w) + (0x1.11bef3ab259bp-54)
	slope := float64(0.125 * FMA64(den, FMA64(float64(2*x), w, float64(-0x1.20dd750429b6dp+0*den)), w))
	wlo = FMA64(rest, slope, wlo)
	// exp(-x²), with the square as a sum.
	h := float64(x * x)
	hlo := FMA64(x, x, -h)
	fn, r, lo := expred64(-h)
	lo -= hlo
	r2 := r + lo
	s, t = expsum64(r2, (r-r2)+lo)
	// (s + t)·(w + wlo)/den
	q := float64(s * w)
	qlo := FMA64(s, w, -q) + FMA64(s, wlo, float64(t*w))
	y := q / den
	return int32(fn), y, (FMA64(-y, den, q) + FMA64(-y, denLo, qlo)) / den
}

func erf64(x float64) float64 {
	a := Abs(x)
	if a < 0.75 {
		return FMA64(x, erfp64(float64(x*x)), x)
	}
	if !(a < 6) {
		if x != x {
			return x
		}
		return Copysign(float64(1), x)
	}
	n, s, t := erfcsum64(a)
	c := pow2f64(n)
	return Copysign(1-float64(c*(s+t)), x)
}

func erfc64(x float64) float64 {
	if x != x {
		return x
	}
	if Abs(x) < 0.75 {
		y := 1 - x
		return y + (((1 - y) - x) - float64(x*erfp64(float64(x*x))))
	}
	if x > 27.3 {
		return 0
	}
	if x < -6 {
		return 2
	}
	n, s, t := erfcsum64(Abs(x))
	if x > 0 {
		return scale64(s+t, n)
	}
	return 2 - float64(pow2f64(n)*(s+t))
}
