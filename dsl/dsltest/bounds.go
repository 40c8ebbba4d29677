package dsltest

// MathBound states the largest error of a math function of package dsl, in
// units in the last place of the exact result. The last place of a subnormal
// result is that of the smallest number.
type MathBound struct {
	Name     string
	F32, F64 float64
}

// MathBounds lists all inexact math functions. Tests of package dsl hold them
// to it, and docs/math.md repeats it.
func MathBounds() []MathBound { return append([]MathBound(nil), mathBounds...) }

var mathBounds = []MathBound{
	{"Exp", 1, 1},
	{"Exp2", 1, 1},
	{"Expm1", 1.1, 1},
	{"Log", 1, 1},
	{"Log2", 1, 1},
	{"Log10", 1, 1},
	{"Log1p", 1, 1},
	{"Sin", 1, 1},
	{"Cos", 1, 1},
	{"Tan", 1, 1},
	{"Sinh", 1, 1},
	{"Cosh", 1, 1},
	{"Tanh", 1, 1},
	{"Asin", 1, 1},
	{"Acos", 1, 1},
	{"Atan", 1.1, 1},
	{"Atan2", 1, 1},
	{"Erf", 1, 1},
	{"Erfc", 1.1, 1.1},
	{"Lgamma", 2.5, 2.5},
	{"Pow", 1, 1},
	{"Rsqrt", 0.6, 0.6},
	{"Cbrt", 0.6, 0.6},
	{"Hypot", 1, 1},
}
