package kernels

import (
	"github.com/gokiln/kiln/dsl"
)

// Add is x + y.
func Add[C Computed](x, y C) C { return x + y }

// Div is x / y. Integers are cut towards zero, and x/0 is 0.
func Div[C Computed](x, y C) C { return x / y }

// MadReal is a·b + c, rounded once.
func MadReal[C dsl.Real](a, b, c C) C { return dsl.FMA(a, b, c) }

// MadInt is a·b + c, which wraps.
func MadInt[C dsl.Number](a, b, c C) C { return a*b + c }

// MadBytes is c + the products of the bytes of a and b.
func MadBytes[C int32 | uint32](a, b, c C) C { return dsl.Dot4(a, b, c) }
