package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// What Binary and Compare compute of two elements.

// Sub is x - y.
func Sub[C core.Computed](x, y C) C { return x - y }

// Mul is x · y.
func Mul[C core.Computed](x, y C) C { return x * y }

// Mod is the remainder of x/y cut towards zero, which has the sign of x.
func Mod[C dsl.Real](x, y C) C { return dsl.Mod(x, y) }

// ModInt is the remainder of x/y cut towards zero, and x of x/0.
func ModInt[C dsl.Int | dsl.Uint](x, y C) C { return x % y }

// Remainder is x less the largest multiple of y that leaves a rest with the sign of y.
func Remainder[C dsl.Real](x, y C) C {
	r := dsl.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

// RemainderInt is [Remainder] of integers, and x of x/0.
func RemainderInt[C dsl.Int | dsl.Uint](x, y C) C {
	r := x % y
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

// Maximum is the larger one, NaN if there is one.
func Maximum[C core.Computed](x, y C) C { return max(x, y) }

// Minimum is the smaller one, NaN if there is one.
func Minimum[C core.Computed](x, y C) C { return min(x, y) }

// Pow is x to the y.
func Pow[C dsl.Real](x, y C) C { return dsl.Pow(x, y) }

// PowInt is x to the y, which wraps; for y < 0 it is that of the exact result cut
// towards zero: 0 but for x = 1 and x = -1, and of x = 0.
func PowInt[C dsl.Int | dsl.Uint](x, y C) C {
	var zero C
	r := zero + 1
	if y < 0 {
		switch {
		case x == 1:
			return 1
		case x == zero-1:
			y = y & 1
		default:
			return 0
		}
	}
	for y > 0 {
		if y&1 != 0 {
			r *= x
		}
		x *= x
		y >>= 1
	}
	return r
}

// Atan2 is the angle of the point (y, x).
func Atan2[C dsl.Real](y, x C) C { return dsl.Atan2(y, x) }

// Hypot is the length of (x, y).
func Hypot[C dsl.Real](x, y C) C { return dsl.Hypot(x, y) }

// Copysign is x with the sign of y.
func Copysign[C dsl.Real](x, y C) C { return dsl.Copysign(x, y) }

// And is the bits that both have.
func And[C dsl.Int | dsl.Uint](x, y C) C { return x & y }

// Or is the bits that one has.
func Or[C dsl.Int | dsl.Uint](x, y C) C { return x | y }

// Xor is the bits that just one has.
func Xor[C dsl.Int | dsl.Uint](x, y C) C { return x ^ y }

// Shl is x shifted to the left by y, 0 past the width; a negative y is past it.
func Shl[C dsl.Int | dsl.Uint](x, y C) C { return x << uint64(y) }

// Shr is x shifted to the right by y, filled with its sign; a negative y is past the
// width.
func Shr[C dsl.Int | dsl.Uint](x, y C) C { return x >> uint64(y) }

// Eq reports whether x = y.
func Eq[C core.Computed](x, y C) bool { return x == y }

// Ne reports whether x ≠ y.
func Ne[C core.Computed](x, y C) bool { return x != y }

// Lt reports whether x < y.
func Lt[C core.Computed](x, y C) bool { return x < y }

// Le reports whether x ≤ y.
func Le[C core.Computed](x, y C) bool { return x <= y }

// Gt reports whether x > y.
func Gt[C core.Computed](x, y C) bool { return x > y }

// Ge reports whether x ≥ y.
func Ge[C core.Computed](x, y C) bool { return x >= y }

// Both reports whether both are true, which any number but 0 is.
func Both[C core.Computed](x, y C) bool { return x != 0 && y != 0 }

// Either reports whether one is true.
func Either[C core.Computed](x, y C) bool { return x != 0 || y != 0 }

// Differ reports whether just one is true.
func Differ[C core.Computed](x, y C) bool { return (x != 0) != (y != 0) }

// What Test computes of one element.

// IsNaN reports whether x is no number.
func IsNaN[C core.Computed](x C) bool { return x != x }

// IsInf reports whether x is infinite.
func IsInf[C dsl.Real](x C) bool { return dsl.IsInf(x, 0) }

// IsFinite reports whether x is neither infinite nor NaN.
func IsFinite[C dsl.Real](x C) bool { return x-x == 0 }

// False reports whether x is 0.
func False[C core.Computed](x C) bool { return x == 0 }

// LogAddExp is log(exp(x) + exp(y)), without overflow.
func LogAddExp[C dsl.Real](x, y C) C {
	if x == y { // infinite ones, too
		return x + math.Ln2
	}
	return max(x, y) + dsl.Log1p(dsl.Exp(-dsl.Abs(x-y)))
}
