package dsl

import "github.com/x448/float16"

// F16 is an IEEE 754 half-precision number. It is storage: compute with [F32]
// of it. The operators of Go treat it as the integer that holds its bits.
type F16 = float16.Float16

// BF16 is a bfloat16 number: the upper half of a float32. It is storage like
// [F16].
type BF16 uint16

// Bits returns the bits of x.
func (x BF16) Bits() uint16 { return uint16(x) }

// Float is any floating-point type that memory can hold.
type Float interface {
	float32 | float64 | F16 | BF16
}

// Real is a floating-point type that has arithmetic.
type Real interface {
	float32 | float64
}

// Int is any signed integer.
type Int interface {
	int | int8 | int16 | int32 | int64
}

// Uint is any unsigned integer.
type Uint interface {
	uint | uint8 | uint16 | uint32 | uint64
}

// Number is any numeric type of the language.
type Number interface {
	Int | Uint | Float
}

// Word is a number of four or eight bytes: what atomics and reductions work on.
type Word interface {
	WordInt | float32 | float64
}

// WordInt is an integer of four or eight bytes.
type WordInt interface {
	int | uint | int32 | uint32 | int64 | uint64
}
