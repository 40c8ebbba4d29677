package dsl

import "math"

// Infinities and NaN of the math functions. They are calls because Go has no
// such constants.
func inf32() float32 { return math.Float32frombits(0x7F800000) }
func nan32() float32 { return math.Float32frombits(0x7FC00000) }
func inf64() float64 { return math.Float64frombits(0x7FF0000000000000) }
func nan64() float64 { return math.Float64frombits(0x7FF8000000000000) }

// pow2f32 is 2^n for n from -126 to 127.
func pow2f32(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// pow2f64 is 2^n for n from -1022 to 1023.
func pow2f64(n int32) float64 { return math.Float64frombits(uint64(n+1023) << 52) }

// scale32 is x·2^n for x around one and n from -252 to 254. The first product
// is exact, so that a subnormal result is rounded once.
func scale32(x float32, n int32) float32 {
	half := n >> 1
	return float32(float32(x*pow2f32(half)) * pow2f32(n-half))
}

// scaleby32 is x·2^n for x around one, where z is n + round32: n from -123 to
// 129, or from -190 to -64 for small results. The first factor is a normal
// number, the second one of two constants, and only the second product rounds.
func scaleby32(x, z float32, small bool) float32 {
	bias, last := uint32(126<<23), float32(2)
	if small {
		bias, last = (127+64)<<23, 0x1p-64
	}
	// The shift leaves n alone of z.
	return float32(float32(x*math.Float32frombits(math.Float32bits(z)<<23+bias)) * last)
}

// scale64 is x·2^n for x around one and n from -2044 to 2046.
func scale64(x float64, n int32) float64 {
	half := n >> 1
	return float64(float64(x*pow2f64(half)) * pow2f64(n-half))
}

// fastsum32 returns a + b, where b is not larger, as a sum whose first part is
// rounded (Dekker, 1971).
func fastsum32(a, b float32) (s, t float32) {
	s = a + b
	return s, (a - s) + b
}

// fastsum64 is fastsum32 in double precision.
func fastsum64(a, b float64) (s, t float64) {
	s = a + b
	return s, (a - s) + b
}
