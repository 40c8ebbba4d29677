package elementwisetest

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
	"logaddexp 2": {two(LogAddExp), 4, nil},
	"zeta 3":      {func(x ...float64) float64 { return x[2] * zeta(x[1], x[0]) }, 512, nil}, // powers of up to 100
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

// zeta is the Hurwitz zeta function, by more terms than a kernel takes.
func zeta(s, x float64) float64 {
	switch {
	case s == 1 && x == x:
		return math.Inf(1)
	case !(s > 1), x != x, x < 0 && s != math.Trunc(s), math.IsInf(x, -1):
		return math.NaN()
	case math.IsInf(x, 1):
		return 0
	case x <= 0 && x == math.Trunc(x):
		if x < 0 && math.Mod(s, 2) != 0 {
			return math.NaN()
		}
		return math.Inf(1)
	}
	sum := 0.0
	for ; x < 100; x++ { // where there are few below 0
		sum += math.Pow(x, -s)
	}
	t := math.Pow(x, -s)
	return sum + t*x/(s-1) + t/2 + t*s/x*(1.0/12-(s+1)*(s+2)/(x*x)*(1.0/720-(s+3)*(s+4)/(x*x)*(1.0/30240-(s+5)*(s+6)/(x*x)/1209600)))
}

func LogAddExp(x, y float64) float64 {
	if x == y {
		return x + math.Ln2
	}
	return max(x, y) + math.Log1p(math.Exp(-math.Abs(x-y)))
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
