package dsl

// Hyperbolic functions from the exponential, as sums of two parts so that the
// subtraction keeps its digits, and minimax polynomials near zero.

// Tanh returns the hyperbolic tangent of x.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Tanh[T Real](x T) T {
	if isFloat32(x) {
		return T(tanh32(float32(x)))
	}
	return T(tanh64(float64(x)))
}

func tanh32(x float32) float32 {
	a := Abs(x)
	if a < 0x1p-13 {
		return x
	}
	if a < 0.55 {
		z := float32(x * x)
		p := FMA32(-0x1.845a68p-8, z, 0x1.5533c8p-6)
		p = FMA32(p, z, -0x1.b8adbep-5)
		p = FMA32(p, z, 0x1.110a68p-3)
		p = FMA32(p, z, -0x1.555542p-2)
		return FMA32(float32(x*z), p, x)
	}
	if !(a < 10) {
		if x != x {
			return x
		}
		return Copysign(float32(1), x)
	}
	// 1 - 2/(e^2a + 1)
	n, r, lo := expred32(float32(2 * a))
	s, t := expsum32(r, lo)
	c := pow2f32(int32(n))
	s, t = float32(c*s), float32(c*t)
	d := s + 1
	dlo := ((s - d) + 1) + t
	q := 2 / d
	qlo := FMA32(-q, dlo, FMA32(-q, d, 2)) / d
	y := 1 - q
	return Copysign(y+(((1-y)-q)-qlo), x)
}

func tanh64(x float64) float64 {
	a := Abs(x)
	if a < 0x1p-28 {
		return x
	}
	if a < 0.55 {
		z := float64(x * x)
		p := FMA64(tanh64p11, z, tanh64p10)
		p = FMA64(p, z, tanh64p9)
		p = FMA64(p, z, tanh64p8)
		p = FMA64(p, z, tanh64p7)
		p = FMA64(p, z, tanh64p6)
		p = FMA64(p, z, tanh64p5)
		p = FMA64(p, z, tanh64p4)
		p = FMA64(p, z, tanh64p3)
		p = FMA64(p, z, tanh64p2)
		p = FMA64(p, z, tanh64p1)
		p = FMA64(p, z, tanh64p0)
		return FMA64(float64(x*z), p, x)
	}
	if !(a < 20) {
		if x != x {
			return x
		}
		return Copysign(float64(1), x)
	}
	// 1 - 2/(e^2a + 1)
	n, r, lo := expred64(float64(2 * a))
	s, t := expsum64(r, lo)
	c := pow2f64(int32(n))
	s, t = float64(c*s), float64(c*t)
	d := s + 1
	dlo := ((s - d) + 1) + t
	q := 2 / d
	qlo := FMA64(-q, dlo, FMA64(-q, d, 2)) / d
	y := 1 - q
	return Copysign(y+(((1-y)-q)-qlo), x)
}

// The coefficients of (tanh x - x)/x³ in x².
const (
	tanh64p0  = -0x1.5555555555555p-2
	tanh64p1  = 0x1.111111111105dp-3
	tanh64p2  = -0x1.ba1ba1ba0d54ap-5
	tanh64p3  = 0x1.664f487e6b1c9p-6
	tanh64p4  = -0x1.226e349d995f6p-7
	tanh64p5  = 0x1.d6d3a6b59e5a9p-9
	tanh64p6  = -0x1.7da055740bdb3p-10
	tanh64p7  = 0x1.353174557ee5p-11
	tanh64p8  = -0x1.f2dc70cd1bcadp-13
	tanh64p9  = 0x1.86e616ef33863p-14
	tanh64p10 = -0x1.0c260cd216e6ep-15
	tanh64p11 = 0x1.cde0245ac6552p-18
)
