package kernels

import (
	"math"

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

// MadPairs is c + the products of the two bfloat16 in the bits of a and b, each rounded once: a
// bfloat16 is the upper half of the float32 of its value.
func MadPairs(a, b, c float32) float32 {
	x, y := math.Float32bits(a), math.Float32bits(b)
	c = dsl.FMA(math.Float32frombits(x<<16), math.Float32frombits(y<<16), c)
	return dsl.FMA(math.Float32frombits(x&^0xffff), math.Float32frombits(y&^0xffff), c)
}
