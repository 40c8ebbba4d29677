package dsl

import (
	"math"
	"unsafe"
)

// The functions of this file are exact, or round once, on every target.

// Sqrt returns the square root of x, rounded to nearest even.
//
//kiln:intrinsic
func Sqrt[T Real](x T) T { return T(math.Sqrt(float64(x))) }

// Abs clears the sign of x.
//
//kiln:intrinsic
func Abs[T Real](x T) T { return T(math.Abs(float64(x))) }

// Floor returns the largest integer not above x.
//
//kiln:intrinsic
func Floor[T Real](x T) T { return T(math.Floor(float64(x))) }

// Ceil returns the smallest integer not below x.
//
//kiln:intrinsic
func Ceil[T Real](x T) T { return T(math.Ceil(float64(x))) }

// Trunc cuts the fraction of x.
//
//kiln:intrinsic
func Trunc[T Real](x T) T { return T(math.Trunc(float64(x))) }

// RoundEven rounds x to the nearest integer, halves to the even one.
//
//kiln:intrinsic
func RoundEven[T Real](x T) T { return T(math.RoundToEven(float64(x))) }

// Copysign returns x with the sign of s.
//
//kiln:intrinsic
func Copysign[T Real](x, s T) T { return T(math.Copysign(float64(x), float64(s))) }

// Min returns the smaller of x and y as Go's min does: NaN wins, and -0 is less
// than +0.
//
//kiln:intrinsic
func Min[T Real](x, y T) T { return min(x, y) }

// Max returns the larger of x and y as Go's max does: NaN wins, and -0 is less
// than +0.
//
//kiln:intrinsic
func Max[T Real](x, y T) T { return max(x, y) }

// FMA returns a*b + c, rounded once.
//
//kiln:intrinsic
func FMA[T Real](a, b, c T) T {
	if unsafe.Sizeof(a) == 4 {
		return T(FMA32(float32(a), float32(b), float32(c)))
	}
	return T(math.FMA(float64(a), float64(b), float64(c)))
}

// FMA64 is [FMA] of float64.
//
//kiln:intrinsic
func FMA64(a, b, c float64) float64 { return math.FMA(a, b, c) }

// FMA32 is [FMA] of float32.
//
// On the host it adds in float64, where the product is exact. Rounding that sum
// again to float32 goes wrong only when the sum lies on the middle between two
// float32 numbers without being exact, or is subnormal there; then the sum is
// rounded to odd first, which makes the second rounding right (Boldo and
// Melquiond, Emulation of FMA and correctly rounded sums, 2008).
//
//kiln:intrinsic
func FMA32(a, b, c float32) float32 {
	p, z := float64(a)*float64(b), float64(c)
	s := p + z
	const tail, half, minNormal = 1<<29 - 1, 1 << 28, 0x1p-126
	bits := math.Float64bits(s)
	if bits&tail != half && math.Abs(s) >= minNormal {
		return float32(s)
	}
	// The error of the sum (Knuth's TwoSum). NaN and Inf leave it NaN.
	zz := s - p
	e := (p - (s - zz)) + (z - zz)
	if bits&1 == 0 && e != 0 && e == e {
		if (e > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
	}
	return float32(math.Float64frombits(bits))
}

// Round rounds x to the nearest integer, halves away from zero.
func Round[T Real](x T) T {
	whole := Trunc(x)
	if Abs(x-whole) >= 0.5 {
		whole += Copysign(T(1), x)
	}
	return whole
}

// IsNaN reports whether x is not a number.
func IsNaN[T Real](x T) bool { return x != x }

// IsInf reports whether x is an infinity: the positive one for sign > 0, the
// negative one for sign < 0, either for zero.
func IsInf[T Real](x T, sign int) bool {
	if x-x == 0 || x != x { // finite, or NaN
		return false
	}
	return sign == 0 || (sign > 0) == (x > 0)
}
