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

// F8E4M3 is the 8-bit floating-point number of the Open Compute Project with 4
// bits of exponent and 3 of fraction: magnitudes from 2^-9 to 448, no infinities;
// 0x7F and 0xFF are NaN. It is storage like [F16].
type F8E4M3 uint8

// Bits returns the bits of x.
func (x F8E4M3) Bits() uint8 { return uint8(x) }

// F8E5M2 is the 8-bit floating-point number of the Open Compute Project with 5
// bits of exponent and 2 of fraction, the upper half of an [F16]: magnitudes from
// 2^-16 to 57344, infinities, NaN. It is storage like [F16].
type F8E5M2 uint8

// Bits returns the bits of x.
func (x F8E5M2) Bits() uint8 { return uint8(x) }

// TF32 is a float32 of which matrix instructions read the sign, the exponent and 10 bits of the
// fraction: products of matrices are less exact with it, and faster ([MMA]). Memory and all other
// arithmetic are those of float32.
type TF32 float32

// Float is any floating-point type that memory can hold. Like all constraints here it
// holds for types that a program derives from its own, as type Metres float32.
type Float interface {
	~float32 | ~float64 | F16 | BF16 | F8E4M3 | F8E5M2
}

// Real is a floating-point type that has arithmetic.
type Real interface {
	~float32 | ~float64
}

// Compute is Real by the name that says what for: the type that a kernel computes
// in, where memory holds another. Functors, types with a method that kernels take
// as type arguments, are generic over it:
//
//	type Gelu[C dsl.Compute] struct{}
//
//	func (Gelu[C]) Apply(x C) C { return x / 2 * (1 + dsl.Erf(x*math.Sqrt2/2)) }
//
//	//kiln:kernel
//	func Map[T dsl.Float, F interface{ Apply(float32) float32 }](t dsl.Thread, out, in []T, f F) {
//		for i := t.Global(); i < len(out); i += t.GlobalSize() {
//			out[i] = dsl.To[T](f.Apply(dsl.F32(in[i])))
//		}
//	}
type Compute = Real

// Int is any signed integer.
type Int interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64
}

// Uint is any unsigned integer. Types of one's own are among them from 32 bits on:
// those of 8 and 16 bits could not be told from [F8E4M3] and [F16], which hold bits that
// are no integers.
type Uint interface {
	~uint | uint8 | uint16 | ~uint32 | ~uint64
}

// Number is any numeric type of the language.
type Number interface {
	Int | Uint | Float
}

// Word is a number of four or eight bytes: what atomics and reductions work on.
type Word interface {
	WordInt | ~float32 | ~float64
}

// WordInt is an integer of four or eight bytes.
type WordInt interface {
	~int | ~uint | ~int32 | ~uint32 | ~int64 | ~uint64
}
