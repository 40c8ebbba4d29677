package dsl

// Arc sine and arc cosine: a minimax polynomial up to ½, and beyond it
// asin x = π/2 - 2·asin √((1-x)/2), with the root and π/2 as sums of two
// numbers.

// Asin returns the arc sine of x, in radians.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Asin[T Real](x T) T {
	if isFloat32(x) {
		return T(asin32(float32(x)))
	}
	return T(asin64(float64(x)))
}

// Acos returns the arc cosine of x, in radians.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Acos[T Real](x T) T {
	if isFloat32(x) {
		return T(acos32(float32(x)))
	}
	return T(acos64(float64(x)))
}

const (
	piOver2f32   = 0x1.921fb6p+0
	piOver2lof32 = -0x1.777a5cp-25
	piOver2f64   = 0x1.921fb54442d18p+0
	piOver2lof64 = 0x1.1a62633145c07p-54
)

// asinp32 is (asin x - x)/x³ for z = x².
func asinp32(z float32) float32 {
	p := FMA32(0x1.339dacp-5, z, 0x1.d81a22p-7)
	p = FMA32(p, z, 0x1.04a8c4p-5)
	p = FMA32(p, z, 0x1.6caafep-5)
	p = FMA32(p, z, 0x1.3338ap-4)
	return FMA32(p, z, 0x1.55554cp-3)
}

// asinroot32 returns 2·asin √z as a sum, for z up to ¼.
func asinroot32(z float32) (s, t float32) {
	if z == 0 {
		return 0, 0
	}
	s = Sqrt(z)
	t = FMA32(float32(s*z), float32(2*asinp32(z)), FMA32(-s, s, z)/s)
	return float32(2 * s), t
}

func asin32(x float32) float32 {
	a := Abs(x)
	if a <= 0.5 {
		if a < 0x1p-13 {
			return x
		}
		z := float32(x * x)
		return FMA32(float32(x*z), asinp32(z), x)
	}
	if !(a <= 1) {
		return nan32()
	}
	s, t := asinroot32(float32(0.5 * (1 - a)))
	y := piOver2f32 - s
	return Copysign(y+(((piOver2f32-y)-s)+(piOver2lof32-t)), x)
}

func acos32(x float32) float32 {
	a := Abs(x)
	if a <= 0.5 {
		z := float32(x * x)
		y := piOver2f32 - x
		return y + (((piOver2f32 - y) - x) + FMA32(float32(-x*z), asinp32(z), piOver2lof32))
	}
	if !(a <= 1) {
		return nan32()
	}
	s, t := asinroot32(float32(0.5 * (1 - a)))
	if x > 0 {
		return s + t
	}
	y := 2*piOver2f32 - s
	return y + (((2*piOver2f32 - y) - s) + (2*piOver2lof32 - t))
}

// asinp64 is (asin x - x)/x³ for z = x².
func asinp64(z float64) float64 {
	p := FMA64(0x1.07f05b2ef45c4p-5, z, -0x1.4cc0b30199035p-6)
	p = FMA64(p, z, 0x1.5b36d6795b0e3p-6)
	p = FMA64(p, z, 0x1.01a70882b6b44p-8)
	p = FMA64(p, z, 0x1.5f28c72e4ac6fp-7)
	p = FMA64(p, z, 0x1.75ebc3ea566acp-7)
	p = FMA64(p, z, 0x1.ca11f731006b9p-7)
	p = FMA64(p, z, 0x1.1c4a8ff8cb261p-6)
	p = FMA64(p, z, 0x1.6e8bd4f34273bp-6)
	p = FMA64(p, z, 0x1.f1c71afbd078bp-6)
	p = FMA64(p, z, 0x1.6db6db70cfcc4p-5)
	p = FMA64(p, z, 0x1.333333333028ap-4)
	return FMA64(p, z, 0x1.5555555555562p-3)
}

// asinroot64 returns 2·asin √z as a sum, for z up to ¼.
func asinroot64(z float64) (s, t float64) {
	if z == 0 {
		return 0, 0
	}
	s = Sqrt(z)
	t = FMA64(float64(s*z), float64(2*asinp64(z)), FMA64(-s, s, z)/s)
	return float64(2 * s), t
}

func asin64(x float64) float64 {
	a := Abs(x)
	if a <= 0.5 {
		if a < 0x1p-28 {
			return x
		}
		z := float64(x * x)
		return FMA64(float64(x*z), asinp64(z), x)
	}
	if !(a <= 1) {
		return nan64()
	}
	s, t := asinroot64(float64(0.5 * (1 - a)))
	y := piOver2f64 - s
	return Copysign(y+(((piOver2f64-y)-s)+(piOver2lof64-t)), x)
}

func acos64(x float64) float64 {
	a := Abs(x)
	if a <= 0.5 {
		z := float64(x * x)
		y := piOver2f64 - x
		return y + (((piOver2f64 - y) - x) + FMA64(float64(-x*z), asinp64(z), piOver2lof64))
	}
	if !(a <= 1) {
		return nan64()
	}
	s, t := asinroot64(float64(0.5 * (1 - a)))
	if x > 0 {
		return s + t
	}
	y := 2*piOver2f64 - s
	return y + (((2*piOver2f64 - y) - s) + (2*piOver2lof64 - t))
}
