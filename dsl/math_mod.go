package dsl

import "math"

// Mod returns the remainder of x/y with the sign of x, exactly. It is NaN when
// x is infinite or y zero.
//
//kiln:dispatch
func Mod[T Real](x, y T) T {
	if isFloat32(x) {
		return T(mod32(float32(x), float32(y)))
	}
	return T(mod64(float64(x), float64(y)))
}

// mod32 divides the significands as integers: the exponents differ by up to
// 276, of which each round takes 40.
func mod32(x, y float32) float32 {
	a, b := Abs(x), Abs(y)
	if !(a < inf32()) || y != y || b == 0 {
		return nan32()
	}
	if a < b {
		return x
	}
	m, e := significand32(a)
	d, f := significand32(b)
	for n := e - f; n > 0; n -= 40 {
		m = m << min(n, 40) % d
	}
	m %= d
	// m·2^f in two steps, both exact: the result has the bits of m.
	r := float32(float32(int64(m)) * pow2f32(f>>1))
	return Copysign(float32(r*pow2f32(f-f>>1)), x)
}

// significand32 returns m and e with x = m·2^e, for a finite x ≥ 0.
func significand32(x float32) (m uint64, e int32) {
	u := math.Float32bits(x)
	if u < 1<<23 {
		return uint64(u), -149
	}
	return uint64(u&0x007FFFFF | 0x00800000), int32(u>>23) - 150
}

// mod64 is mod32 with rounds of 11, as a significand fills 53 bits.
func mod64(x, y float64) float64 {
	a, b := Abs(x), Abs(y)
	if !(a < inf64()) || y != y || b == 0 {
		return nan64()
	}
	if a < b {
		return x
	}
	m, e := significand64(a)
	d, f := significand64(b)
	for n := e - f; n > 0; n -= 11 {
		m = m << min(n, 11) % d
	}
	m %= d
	r := float64(float64(int64(m)) * pow2f64(f>>1))
	return Copysign(float64(r*pow2f64(f-f>>1)), x)
}

// significand64 returns m and e with x = m·2^e, for a finite x ≥ 0.
func significand64(x float64) (m uint64, e int32) {
	u := math.Float64bits(x)
	if u < 1<<52 {
		return u, -1074
	}
	return u&0x000FFFFFFFFFFFFF | 0x0010000000000000, int32(u>>52) - 1075
}
