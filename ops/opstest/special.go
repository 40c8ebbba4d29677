package opstest

import (
	"maps"
	"math"
)

// special are the references of what package math has not, or has otherwise.
var special = map[string]reference{
	"asinh 1":     {one(math.Asinh), 4, nil},
	"acosh 1":     {one(math.Acosh), 4, nil},
	"atanh 1":     {one(math.Atanh), 4, nil},
	"digamma 1":   {one(digamma), 1 << 14, nil}, // zeros and poles make it relative to nothing
	"remainder 2": {two(modulo), 0.5, moduloInt},
}

func init() { maps.Copy(references, special) }

// digamma is the derivative of the logarithm of the gamma function, by more terms of the
// recurrence than a kernel takes.
func digamma(x float64) float64 {
	if x <= 0 {
		if x == math.Trunc(x) {
			return math.NaN()
		}
		_, part := math.Modf(x)
		return digamma(1-x) - math.Pi/math.Tan(math.Pi*part)
	}
	sum := 0.0
	for ; x < 30; x++ {
		sum -= 1 / x
	}
	y := 1 / (x * x)
	return sum + math.Log(x) - 1/(2*x) - y*(1.0/12-y*(1.0/120-y*(1.0/252-y*(1.0/240-y/132))))
}

// modulo is the rest of a division that has the sign of the divisor.
func modulo(x, y float64) float64 {
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

func moduloInt(x ...int64) int64 {
	r := remainder(x...)
	if r != 0 && (r < 0) != (x[1] < 0) {
		r += x[1]
	}
	return r
}
