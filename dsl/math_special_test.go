package dsl_test

import (
	"math"
	"testing"

	"github.com/gokiln/kiln/dsl"
)

var (
	inf  = math.Inf(1)
	nan  = math.NaN()
	zero = math.Copysign(0, -1) // the negative one
)

// same compares bits, any NaN with any other.
func same(a, b float64) bool {
	return a != a && b != b || math.Float64bits(a) == math.Float64bits(b)
}

func TestSpecialCases(t *testing.T) {
	const tiny = math.SmallestNonzeroFloat64
	const pi = math.Pi
	type cases [][2]float64
	odd := cases{{0, 0}, {zero, zero}, {nan, nan}}
	tests := []struct {
		name  string
		f32   func(float32) float32
		f64   func(float64) float64
		cases cases
	}{
		{"Exp", dsl.Exp[float32], dsl.Exp[float64], cases{{0, 1}, {zero, 1}, {inf, inf}, {-inf, 0}, {1e4, inf}, {-1e4, 0}, {nan, nan}, {tiny, 1}}},
		{"Exp2", dsl.Exp2[float32], dsl.Exp2[float64], cases{{0, 1}, {zero, 1}, {3, 8}, {-2, 0.25}, {inf, inf}, {-inf, 0}, {1e4, inf}, {-1e4, 0}, {nan, nan}}},
		{"Expm1", dsl.Expm1[float32], dsl.Expm1[float64], append(cases{{inf, inf}, {-inf, -1}, {-1e4, -1}, {1e4, inf}}, odd...)},
		{"Log", dsl.Log[float32], dsl.Log[float64], cases{{1, 0}, {0, -inf}, {zero, -inf}, {-1, nan}, {-inf, nan}, {inf, inf}, {nan, nan}}},
		{"Log2", dsl.Log2[float32], dsl.Log2[float64], cases{{1, 0}, {8, 3}, {0.125, -3}, {0x1p-140, -140}, {0, -inf}, {zero, -inf}, {-1, nan}, {inf, inf}, {nan, nan}}},
		{"Log10", dsl.Log10[float32], dsl.Log10[float64], cases{{1, 0}, {1000, 3}, {0, -inf}, {zero, -inf}, {-1, nan}, {inf, inf}, {nan, nan}}},
		{"Log1p", dsl.Log1p[float32], dsl.Log1p[float64], append(cases{{-1, -inf}, {-2, nan}, {-inf, nan}, {inf, inf}}, odd...)},
		{"Sin", dsl.Sin[float32], dsl.Sin[float64], append(cases{{inf, nan}, {-inf, nan}}, odd...)},
		{"Cos", dsl.Cos[float32], dsl.Cos[float64], cases{{0, 1}, {zero, 1}, {inf, nan}, {-inf, nan}, {nan, nan}}},
		{"Tan", dsl.Tan[float32], dsl.Tan[float64], append(cases{{inf, nan}, {-inf, nan}}, odd...)},
		{"Sinh", dsl.Sinh[float32], dsl.Sinh[float64], append(cases{{inf, inf}, {-inf, -inf}, {1e4, inf}, {-1e4, -inf}}, odd...)},
		{"Cosh", dsl.Cosh[float32], dsl.Cosh[float64], cases{{0, 1}, {zero, 1}, {inf, inf}, {-inf, inf}, {-1e4, inf}, {nan, nan}}},
		{"Tanh", dsl.Tanh[float32], dsl.Tanh[float64], append(cases{{inf, 1}, {-inf, -1}, {50, 1}, {-50, -1}}, odd...)},
		{"Asin", dsl.Asin[float32], dsl.Asin[float64], append(cases{{1.5, nan}, {-inf, nan}}, odd...)},
		{"Acos", dsl.Acos[float32], dsl.Acos[float64], cases{{1, 0}, {1.5, nan}, {inf, nan}, {nan, nan}}},
		{"Atan", dsl.Atan[float32], dsl.Atan[float64], odd},
		{"Erf", dsl.Erf[float32], dsl.Erf[float64], append(cases{{inf, 1}, {-inf, -1}, {9, 1}}, odd...)},
		{"Erfc", dsl.Erfc[float32], dsl.Erfc[float64], cases{{0, 1}, {zero, 1}, {inf, 0}, {-inf, 2}, {30, 0}, {-9, 2}, {nan, nan}}},
		{"Lgamma", dsl.Lgamma[float32], dsl.Lgamma[float64], cases{{1, 0}, {2, 0}, {0, inf}, {zero, inf}, {-1, inf}, {-7, inf}, {-1e30, inf}, {inf, inf}, {-inf, -inf}, {nan, nan}}},
		{"Rsqrt", dsl.Rsqrt[float32], dsl.Rsqrt[float64], cases{{0, inf}, {zero, -inf}, {inf, 0}, {4, 0.5}, {-1, nan}, {nan, nan}}},
		{"Cbrt", dsl.Cbrt[float32], dsl.Cbrt[float64], append(cases{{inf, inf}, {-inf, -inf}, {27, 3}, {-8, -2}}, odd...)},
		{"Round", dsl.Round[float32], dsl.Round[float64], append(cases{{0.5, 1}, {-0.5, -1}, {2.5, 3}, {-2.5, -3}, {0.25, 0}, {-0.25, zero}, {0.49999997, 0}, {inf, inf}, {-inf, -inf}, {8388609, 8388609}}, odd...)},
		{"Floor", dsl.Floor[float32], dsl.Floor[float64], append(cases{{1.5, 1}, {-1.5, -2}, {inf, inf}}, odd...)},
		{"Ceil", dsl.Ceil[float32], dsl.Ceil[float64], append(cases{{1.5, 2}, {-0.5, zero}, {inf, inf}}, odd...)},
		{"Trunc", dsl.Trunc[float32], dsl.Trunc[float64], append(cases{{1.5, 1}, {-1.5, -1}, {-0.5, zero}}, odd...)},
		{"RoundEven", dsl.RoundEven[float32], dsl.RoundEven[float64], append(cases{{0.5, 0}, {1.5, 2}, {-2.5, -2}, {-0.25, zero}}, odd...)},
		{"Abs", dsl.Abs[float32], dsl.Abs[float64], cases{{zero, 0}, {-inf, inf}, {-3, 3}, {nan, nan}}},
		{"Sqrt", dsl.Sqrt[float32], dsl.Sqrt[float64], append(cases{{4, 2}, {-1, nan}, {inf, inf}}, odd...)},
	}
	for _, f := range tests {
		for _, c := range f.cases {
			if got := f.f64(c[0]); !same(got, c[1]) {
				t.Errorf("%s[float64](%g) = %g, want %g", f.name, c[0], got, c[1])
			}
			if got := f.f32(float32(c[0])); !same(float64(got), c[1]) {
				t.Errorf("%s[float32](%g) = %g, want %g", f.name, c[0], got, c[1])
			}
		}
	}
	for _, s := range []float64{1, -1} {
		if got := dsl.Asin(s); got != s*pi/2 {
			t.Errorf("Asin(%g) = %g", s, got)
		}
		if got := dsl.Atan(s * inf); got != s*pi/2 {
			t.Errorf("Atan(%g) = %g", s*inf, got)
		}
	}
	if got := dsl.Acos(-1.0); got != pi {
		t.Errorf("Acos(-1) = %g", got)
	}
}

// Small arguments come back unchanged, subnormal ones and their sign too.
func TestOddFunctionsNearZero(t *testing.T) {
	for _, u := range unaries {
		switch u.name {
		case "Sin", "Tan", "Sinh", "Tanh", "Asin", "Atan", "Expm1", "Log1p":
		default:
			continue
		}
		for _, x := range []float64{math.SmallestNonzeroFloat64, 0x1p-1030, 0x1p-500} {
			for _, x := range []float64{x, -x} {
				if got := u.f64(x); got != x {
					t.Errorf("%s(%g) = %g", u.name, x, got)
				}
			}
		}
		for _, x := range []float32{math.SmallestNonzeroFloat32, 0x1p-130, 0x1p-60} {
			for _, x := range []float32{x, -x} {
				if got := u.f32(x); got != x {
					t.Errorf("%s(%g) = %g", u.name, x, got)
				}
			}
		}
	}
}

var awkward = []float64{0, zero, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 2.5, -2.5, inf, -inf, nan, 1e300, -1e300, 0x1p53, 0x1p24, 0x1p-149, -0x1p-149, 16777215, -16777215}

// The special cases of functions of two arguments are those of package math,
// but for the sign that its Atan2 loses when y/x underflows.
func TestBinarySpecialCases(t *testing.T) {
	tests := []struct {
		name string
		f32  func(x, y float32) float32
		f64  func(x, y float64) float64
		want func(x, y float64) float64
	}{
		{"Pow", dsl.Pow[float32], dsl.Pow[float64], math.Pow},
		{"Hypot", dsl.Hypot[float32], dsl.Hypot[float64], math.Hypot},
		{"Atan2", dsl.Atan2[float32], dsl.Atan2[float64], func(y, x float64) float64 { return math.Copysign(math.Atan2(y, x), y) }},
		{"Mod", dsl.Mod[float32], dsl.Mod[float64], math.Mod},
		{"Copysign", dsl.Copysign[float32], dsl.Copysign[float64], math.Copysign},
		{"Min", dsl.Min[float32], dsl.Min[float64], func(x, y float64) float64 { return min(x, y) }},
		{"Max", dsl.Max[float32], dsl.Max[float64], func(x, y float64) float64 { return max(x, y) }},
	}
	for _, f := range tests {
		for _, x := range awkward {
			for _, y := range awkward {
				got, want := f.f64(x, y), f.want(x, y)
				if !same(got, want) && !(math.Abs(got-want) <= 1e-14*math.Abs(want)) {
					t.Errorf("%s[float64](%g, %g) = %g, want %g", f.name, x, y, got, want)
				}
				a, b := float32(x), float32(y)
				got32, want := f.f32(a, b), f.want(float64(a), float64(b))
				if e := ulps32(got32, want); e > 1 || math.Signbit(float64(got32)) != math.Signbit(want) && want == want {
					t.Errorf("%s[float32](%g, %g) = %g, want %g", f.name, a, b, got32, want)
				}
			}
		}
	}
}
