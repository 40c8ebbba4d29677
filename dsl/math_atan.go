package dsl

import "math"

// Arc tangents work on t ≤ 1, the smaller of two sides over the larger, with
// the rest of the division kept; swapped sides subtract from π/2. The float64
// polynomial covers t ≤ ½, and atan t = π/4 + atan((t-1)/(t+1)) the rest.

// Atan returns the arc tangent of x, in radians.
//
// Error: at most 1.1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Atan[T Real](x T) T {
	if isFloat32(x) {
		return T(atan32(float32(x)))
	}
	return T(atan64(float64(x)))
}

// Atan2 returns the angle of the point (x, y), in radians from -π to π. Its
// special cases are those of [math.Atan2].
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Atan2[T Real](y, x T) T {
	if isFloat32(x) {
		return T(atan232(float32(y), float32(x)))
	}
	return T(atan264(float64(y), float64(x)))
}

// atansum32 returns atan(t+lo) as a sum, for t from 0 to 1.
func atansum32(t, lo float32) (hi, rest float32) {
	z := float32(t * t)
	p := FMA32(0x1.2961d6p-10, z, -0x1.e69a0ap-8)
	p = FMA32(p, z, 0x1.752d56p-6)
	p = FMA32(p, z, -0x1.707f7p-5)
	p = FMA32(p, z, 0x1.1509bp-4)
	p = FMA32(p, z, -0x1.6953a8p-4)
	p = FMA32(p, z, 0x1.c5116ep-4)
	p = FMA32(p, z, -0x1.24762p-3)
	p = FMA32(p, z, 0x1.99981cp-3)
	p = FMA32(p, z, -0x1.555552p-2)
	return t, FMA32(float32(t*z), p, FMA32(float32(-0.5*z), lo, lo)) // lo/(1+z), nearly
}

// quotient32 returns a/b as a sum, for 0 ≤ a ≤ b ≠ 0. A quotient that is
// subnormal has nothing to keep.
func quotient32(a, b float32) (t, lo float32) {
	t = a / b
	if t < 0x1p-100 {
		return t, 0
	}
	if b > 0x1p100 { // keeps the remainder normal for small b too
		a, b = float32(a*0x1p-64), float32(b*0x1p-64)
	} else if b < 0x1p-60 {
		a, b = float32(a*0x1p80), float32(b*0x1p80)
	}
	return t, FMA32(-t, b, a) / b
}

// minus32 returns hi + lo - s - t.
func minus32(hi, lo, s, t float32) (y, rest float32) {
	y = hi - s
	return y, ((hi - y) - s) + (lo - t)
}

func atan32(x float32) float32 {
	a := Abs(x)
	if a <= 1 {
		if a < 0x1p-13 {
			return x
		}
		s, t := atansum32(a, 0)
		return Copysign(s+t, x)
	}
	if x != x {
		return x
	}
	if a > 0x1p26 {
		return Copysign(float32(piOver2f32), x)
	}
	s, t := atansum32(quotient32(1, a))
	s, t = minus32(piOver2f32, piOver2lof32, s, t)
	return Copysign(s+t, x)
}

func atan232(y, x float32) float32 {
	if x != x || y != y {
		return nan32()
	}
	a, b := Abs(y), Abs(x)
	swap := a > b
	if swap {
		a, b = b, a
	}
	var s, t float32
	if a == inf32() {
		s = 1
	} else if b != 0 {
		s, t = quotient32(a, b)
	}
	s, t = atansum32(s, t)
	if swap {
		s, t = minus32(piOver2f32, piOver2lof32, s, t)
	}
	if math.Float32bits(x)>>31 != 0 {
		s, t = minus32(2*piOver2f32, 2*piOver2lof32, s, t)
	}
	return Copysign(s+t, y)
}

// atanp64 returns atan(t+lo) as a sum, for |t| ≤ ½.
func atanp64(t, lo float64) (hi, rest float64) {
	z := float64(t * t)
	p := FMA64(-0x1.1507ae90f3cbdp-7, z, 0x1.86007d8948c83p-6)
	p = FMA64(p, z, -0x1.30fc5fc09fe43p-5)
	p = FMA64(p, z, 0x1.785d3d0cfe637p-5)
	p = FMA64(p, z, -0x1.ac8e0d2cdfdc3p-5)
	p = FMA64(p, z, 0x1.e1881364fc3c3p-5)
	p = FMA64(p, z, -0x1.110cc9ae2b09ep-4)
	p = FMA64(p, z, 0x1.3b1368c3c9504p-4)
	p = FMA64(p, z, -0x1.745d140eed143p-4)
	p = FMA64(p, z, 0x1.c71c71b00eb13p-4)
	p = FMA64(p, z, -0x1.249249246347bp-3)
	p = FMA64(p, z, 0x1.9999999999413p-3)
	p = FMA64(p, z, -0x1.5555555555554p-2)
	return t, FMA64(float64(t*z), p, FMA64(-lo, z, lo)) // lo/(1+z), nearly
}

// atansum64 returns atan(t+lo) as a sum, for t from 0 to 1.
func atansum64(t, lo float64) (hi, rest float64) {
	if t <= 0.5 {
		return atanp64(t, lo)
	}
	n, d := t-1, t+1 // the difference is exact
	dlo := (1 - d) + t + lo
	u := n / d
	ulo := (FMA64(-u, d, n) + FMA64(-u, dlo, lo)) / d
	hi, rest = atanp64(u, ulo)
	const quarter, quarterLo = piOver2f64 / 2, piOver2lof64 / 2
	return minus64(quarter, quarterLo, -hi, -rest)
}

// quotient64 returns a/b as a sum, for 0 ≤ a ≤ b ≠ 0. A quotient that is
// subnormal has nothing to keep.
func quotient64(a, b float64) (t, lo float64) {
	t = a / b
	if t < 0x1p-900 {
		return t, 0
	}
	if b > 0x1p900 { // keeps the remainder normal for small b too
		a, b = float64(a*0x1p-500), float64(b*0x1p-500)
	} else if b < 0x1p-600 {
		a, b = float64(a*0x1p500), float64(b*0x1p500)
	}
	return t, FMA64(-t, b, a) / b
}

// minus64 returns hi + lo - s - t.
func minus64(hi, lo, s, t float64) (y, rest float64) {
	y = hi - s
	return y, ((hi - y) - s) + (lo - t)
}

func atan64(x float64) float64 {
	a := Abs(x)
	if a <= 1 {
		if a < 0x1p-28 {
			return x
		}
		s, t := atansum64(a, 0)
		return Copysign(s+t, x)
	}
	if x != x {
		return x
	}
	if a > 0x1p56 {
		return Copysign(float64(piOver2f64), x)
	}
	s, t := atansum64(quotient64(1, a))
	s, t = minus64(piOver2f64, piOver2lof64, s, t)
	return Copysign(s+t, x)
}

func atan264(y, x float64) float64 {
	if x != x || y != y {
		return nan64()
	}
	a, b := Abs(y), Abs(x)
	swap := a > b
	if swap {
		a, b = b, a
	}
	var s, t float64
	if a == inf64() {
		s = 1
	} else if b != 0 {
		s, t = quotient64(a, b)
	}
	s, t = atansum64(s, t)
	if swap {
		s, t = minus64(piOver2f64, piOver2lof64, s, t)
	}
	if math.Float64bits(x)>>63 != 0 {
		s, t = minus64(2*piOver2f64, 2*piOver2lof64, s, t)
	}
	return Copysign(s+t, y)
}
