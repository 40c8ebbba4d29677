package dsl

// Sine, cosine and tangent: x = q·π/2 + r with |r| ≤ π/4, r as a sum of two
// numbers (math_trigred.go), then minimax polynomials whose leading terms are
// added as sums of two numbers as well.

// Sin returns the sine of x, in radians.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Sin[T Real](x T) T {
	if isFloat32(x) {
		return T(sin32(float32(x)))
	}
	return T(sin64(float64(x)))
}

// Cos returns the cosine of x, in radians.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Cos[T Real](x T) T {
	if isFloat32(x) {
		return T(cos32(float32(x)))
	}
	return T(cos64(float64(x)))
}

// Tan returns the tangent of x, in radians.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Tan[T Real](x T) T {
	if isFloat32(x) {
		return T(tan32(float32(x)))
	}
	return T(tan64(float64(x)))
}

// sinsum32 returns sin(r+lo) as a sum.
func sinsum32(r, lo float32) (s, t float32) {
	z := float32(r * r)
	p := FMA32(-0x1.9951fcp-13, z, 0x1.110774p-7)
	p = FMA32(p, z, -0x1.555546p-3)
	return r, FMA32(float32(r*z), p, FMA32(float32(-0.5*z), lo, lo))
}

// cossum32 returns cos(r+lo) as a sum.
func cossum32(r, lo float32) (s, t float32) {
	z := float32(r * r)
	zlo := FMA32(r, r, -z)
	p := FMA32(0x1.99e80cp-16, z, -0x1.6c0c28p-10)
	p = FMA32(p, z, 0x1.55554ap-5)
	h := float32(0.5 * z)
	s = 1 - h
	t = FMA32(float32(z*z), p, FMA32(-r, lo, float32(-0.5*zlo)))
	return s, ((1 - s) - h) + t
}

func sin32(x float32) float32 {
	if !(Abs(x) < inf32()) {
		return nan32()
	}
	if Abs(x) < 0x1p-12 {
		return x
	}
	q, r, lo := trigred32(x)
	s, t := sinsum32(r, lo)
	if q&1 != 0 {
		s, t = cossum32(r, lo)
	}
	if q&2 != 0 {
		return -(s + t)
	}
	return s + t
}

func cos32(x float32) float32 {
	if !(Abs(x) < inf32()) {
		return nan32()
	}
	q, r, lo := trigred32(x)
	s, t := cossum32(r, lo)
	if q&1 != 0 {
		s, t = sinsum32(r, lo)
	}
	if (q+1)&2 != 0 {
		return -(s + t)
	}
	return s + t
}

func tan32(x float32) float32 {
	if !(Abs(x) < inf32()) {
		return nan32()
	}
	if Abs(x) < 0x1p-13 {
		return x
	}
	q, r, lo := trigred32(x)
	s, t := fastsum32(sinsum32(r, lo))
	c, d := fastsum32(cossum32(r, lo))
	if q&1 != 0 { // tan(r + π/2) = -cos r / sin r
		s, t, c, d = -c, -d, s, t
	}
	y := s / c
	return y + (FMA32(-y, c, s)+FMA32(-y, d, t))/c
}

// sinsum64 returns sin(r+lo) as a sum.
func sinsum64(r, lo float64) (s, t float64) {
	z := float64(r * r)
	p := FMA64(-0x1.9965d9856d463p-41, z, 0x1.60fc5defb73f9p-33)
	p = FMA64(p, z, -0x1.ae64178c92948p-26)
	p = FMA64(p, z, 0x1.71de3a245f448p-19)
	p = FMA64(p, z, -0x1.a01a019ff3d73p-13)
	p = FMA64(p, z, 0x1.111111111103fp-7)
	p = FMA64(p, z, -0x1.5555555555555p-3)
	return r, FMA64(float64(r*z), p, FMA64(float64(-0.5*z), lo, lo))
}

// cossum64 returns cos(r+lo) as a sum.
func cossum64(r, lo float64) (s, t float64) {
	z := float64(r * r)
	zlo := FMA64(r, r, -z)
	p := FMA64(-0x1.8fa5539cd645p-37, z, 0x1.1ee9d9c6a65ebp-29)
	p = FMA64(p, z, -0x1.27e4f7ef0d768p-22)
	p = FMA64(p, z, 0x1.a01a019c8c7d7p-16)
	p = FMA64(p, z, -0x1.6c16c16c15005p-10)
	p = FMA64(p, z, 0x1.555555555554bp-5)
	h := float64(0.5 * z)
	s = 1 - h
	t = FMA64(float64(z*z), p, FMA64(-r, lo, float64(-0.5*zlo)))
	return s, ((1 - s) - h) + t
}

func sin64(x float64) float64 {
	if !(Abs(x) < inf64()) {
		return nan64()
	}
	if Abs(x) < 0x1p-27 {
		return x
	}
	q, r, lo := trigred64(x)
	s, t := sinsum64(r, lo)
	if q&1 != 0 {
		s, t = cossum64(r, lo)
	}
	if q&2 != 0 {
		return -(s + t)
	}
	return s + t
}

func cos64(x float64) float64 {
	if !(Abs(x) < inf64()) {
		return nan64()
	}
	q, r, lo := trigred64(x)
	s, t := cossum64(r, lo)
	if q&1 != 0 {
		s, t = sinsum64(r, lo)
	}
	if (q+1)&2 != 0 {
		return -(s + t)
	}
	return s + t
}

func tan64(x float64) float64 {
	if !(Abs(x) < inf64()) {
		return nan64()
	}
	if Abs(x) < 0x1p-28 {
		return x
	}
	q, r, lo := trigred64(x)
	s, t := fastsum64(sinsum64(r, lo))
	c, d := fastsum64(cossum64(r, lo))
	if q&1 != 0 { // tan(r + π/2) = -cos r / sin r
		s, t, c, d = -c, -d, s, t
	}
	y := s / c
	return y + (FMA64(-y, c, s)+FMA64(-y, d, t))/c
}
