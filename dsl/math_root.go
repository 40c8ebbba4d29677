package dsl

import "math"

// Roots other than the square root. Each takes a good approximation and
// corrects it once by its exact residual.

// Rsqrt returns 1/√x.
//
// Error: at most 0.6 ulp in float32, 0.6 ulp in float64.
//
//kiln:dispatch
func Rsqrt[T Real](x T) T {
	if isFloat32(x) {
		return T(rsqrt32(float32(x)))
	}
	return T(rsqrt64(float64(x)))
}

// Cbrt returns the cube root of x.
//
// Error: at most 0.6 ulp in float32, 0.6 ulp in float64.
//
//kiln:dispatch
func Cbrt[T Real](x T) T {
	if isFloat32(x) {
		return T(cbrt32(float32(x)))
	}
	return T(cbrt64(float64(x)))
}

// Hypot returns √(x² + y²) without intermediate overflow or underflow. It is
// infinite when x or y is, even if the other is NaN.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Hypot[T Real](x, y T) T {
	if isFloat32(x) {
		return T(hypot32(float32(x), float32(y)))
	}
	return T(hypot64(float64(x), float64(y)))
}

func rsqrt32(x float32) float32 {
	y := 1 / Sqrt(x)
	if !(x > 0 && x < inf32()) {
		return y
	}
	p := float32(x * y)
	e := FMA32(-y, FMA32(x, y, -p), FMA32(-y, p, 1)) // 1 - x·y²
	return FMA32(float32(0.5*e), y, y)
}

func cbrt32(x float32) float32 {
	a := Abs(x)
	if a == 0 || !(a < inf32()) {
		return x
	}
	scale := float32(1)
	if a < 0x1p-100 {
		a, scale = float32(a*0x1p48), 0x1p-16
	} else if a > 0x1p96 {
		a, scale = float32(a*0x1p-48), 0x1p16
	}
	// A third of the exponent, and of the fraction as its logarithm, within 4 %.
	t := math.Float32frombits(math.Float32bits(a)/3 + 0x2A510000)
	for i := 0; i < 2; i++ { // Halley's step cubes the error
		c := float32(float32(t*t) * t)
		t = float32(t * ((a + a + c) / (a + c + c)))
	}
	s := float32(t * t)
	r := FMA32(s, t, -a) + float32(FMA32(t, t, -s)*t)
	return Copysign(float32(scale*(t-r/float32(3*s))), x)
}

// hypot32 is the corrected and fused algorithm of Borges, An improved algorithm
// for hypot(a,b), 2019.
func hypot32(x, y float32) float32 {
	x, y = Abs(x), Abs(y)
	if x == inf32() || y == inf32() {
		return inf32()
	}
	if x < y {
		x, y = y, x
	}
	if x != x || y != y {
		return nan32()
	}
	if y <= float32(x*0x1p-13) {
		return x
	}
	scale := float32(1)
	if x > 0x1p60 {
		x, y, scale = float32(x*0x1p-70), float32(y*0x1p-70), 0x1p70
	} else if x < 0x1p-30 {
		x, y, scale = float32(x*0x1p90), float32(y*0x1p90), 0x1p-90
	}
	h := Sqrt(FMA32(x, x, float32(y*y)))
	hh, xx := float32(h*h), float32(x*x)
	d := FMA32(-y, y, hh-xx) + FMA32(h, h, -hh) - FMA32(x, x, -xx)
	return float32(scale * (h - d/float32(2*h)))
}

func rsqrt64(x float64) float64 {
	y := 1 / Sqrt(x)
	if !(x > 0 && x < inf64()) {
		return y
	}
	p := float64(x * y)
	e := FMA64(-y, FMA64(x, y, -p), FMA64(-y, p, 1)) // 1 - x·y²
	return FMA64(float64(0.5*e), y, y)
}

func cbrt64(x float64) float64 {
	a := Abs(x)
	if a == 0 || !(a < inf64()) {
		return x
	}
	scale := float64(1)
	if a < 0x1p-900 {
		a, scale = float64(a*0x1p300), 0x1p-100
	} else if a > 0x1p900 {
		a, scale = float64(a*0x1p-300), 0x1p100
	}
	t := math.Float64frombits(math.Float64bits(a)/3 + 0x2A9F800000000000)
	for i := 0; i < 3; i++ { // Halley's step cubes the error
		c := float64(float64(t*t) * t)
		t = float64(t * ((a + a + c) / (a + c + c)))
	}
	s := float64(t * t)
	r := FMA64(s, t, -a) + float64(FMA64(t, t, -s)*t)
	return Copysign(float64(scale*(t-r/float64(3*s))), x)
}

// hypot64 is hypot32 in double precision.
func hypot64(x, y float64) float64 {
	x, y = Abs(x), Abs(y)
	if x == inf64() || y == inf64() {
		return inf64()
	}
	if x < y {
		x, y = y, x
	}
	if x != x || y != y {
		return nan64()
	}
	if y <= float64(x*0x1p-28) {
		return x
	}
	scale := float64(1)
	if x > 0x1p500 {
		x, y, scale = float64(x*0x1p-600), float64(y*0x1p-600), 0x1p600
	} else if x < 0x1p-400 {
		x, y, scale = float64(x*0x1p700), float64(y*0x1p700), 0x1p-700
	}
	h := Sqrt(FMA64(x, x, float64(y*y)))
	hh, xx := float64(h*h), float64(x*x)
	d := FMA64(-y, y, hh-xx) + FMA64(h, h, -hh) - FMA64(x, x, -xx)
	return float64(scale * (h - d/float64(2*h)))
}
