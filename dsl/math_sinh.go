package dsl

// Sinh returns the hyperbolic sine of x.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Sinh[T Real](x T) T {
	if isFloat32(x) {
		return T(sinh32(float32(x)))
	}
	return T(sinh64(float64(x)))
}

// Cosh returns the hyperbolic cosine of x.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Cosh[T Real](x T) T {
	if isFloat32(x) {
		return T(cosh32(float32(x)))
	}
	return T(cosh64(float64(x)))
}

func sinh32(x float32) float32 {
	a := Abs(x)
	if a < 1 {
		if a < 0x1p-13 {
			return x
		}
		z := float32(x * x)
		p := FMA32(0x1.749a92p-19, z, 0x1.a027f6p-13)
		p = FMA32(p, z, 0x1.1110d8p-7)
		p = FMA32(p, z, 0x1.555556p-3)
		return FMA32(float32(x*z), p, x)
	}
	if !(a < 90) {
		return float32(x * inf32())
	}
	n, r, lo := expred32(a)
	s, t := expsum32(r, lo)
	if a > 20 { // e^-a is too small to matter
		return Copysign(scale32(s+t, int32(n)-1), x)
	}
	c := pow2f32(int32(n) - 1)
	s, t = float32(c*s), float32(c*t)
	v := 0.25 / s // e^-a / 2
	y := s - v
	return Copysign(y+(((s-y)-v)+t), x)
}

func cosh32(x float32) float32 {
	a := Abs(x)
	if !(a < 90) {
		return float32(a * inf32()) // NaN or past overflow
	}
	n, r, lo := expred32(a)
	s, t := expsum32(r, lo)
	if a > 20 {
		return scale32(s+t, int32(n)-1)
	}
	c := pow2f32(int32(n) - 1)
	s, t = float32(c*s), float32(c*t)
	v := 0.25 / s
	vlo := FMA32(-v, t, FMA32(-v, s, 0.25)) / s
	y := s + v
	return y + (((s - y) + v) + (t + vlo))
}

func sinh64(x float64) float64 {
	a := Abs(x)
	if a < 1 {
		if a < 0x1p-28 {
			return x
		}
		z := float64(x * x)
		p := FMA64(0x1.d3e1e9f1bc671p-48, z, 0x1.a65d4a756d236p-41)
		p = FMA64(p, z, 0x1.61315701ae2c7p-33)
		p = FMA64(p, z, 0x1.ae644117a8aaep-26)
		p = FMA64(p, z, 0x1.71de3a68d5d3ep-19)
		p = FMA64(p, z, 0x1.a01a01a00733bp-13)
		p = FMA64(p, z, 0x1.111111111119bp-7)
		p = FMA64(p, z, 0x1.5555555555555p-3)
		return FMA64(float64(x*z), p, x)
	}
	if !(a < 711) {
		return float64(x * inf64())
	}
	n, r, lo := expred64(a)
	s, t := expsum64(r, lo)
	if a > 40 { // e^-a is too small to matter
		return Copysign(scale64(s+t, int32(n)-1), x)
	}
	c := pow2f64(int32(n) - 1)
	s, t = float64(c*s), float64(c*t)
	v := 0.25 / s // e^-a / 2
	y := s - v
	return Copysign(y+(((s-y)-v)+t), x)
}

func cosh64(x float64) float64 {
	a := Abs(x)
	if !(a < 711) {
		return float64(a * inf64()) // NaN or past overflow
	}
	n, r, lo := expred64(a)
	s, t := expsum64(r, lo)
	if a > 40 {
		return scale64(s+t, int32(n)-1)
	}
	c := pow2f64(int32(n) - 1)
	s, t = float64(c*s), float64(c*t)
	v := 0.25 / s
	vlo := FMA64(-v, t, FMA64(-v, s, 0.25)) / s
	y := s + v
	return y + (((s - y) + v) + (t + vlo))
}
