package dsl

import (
	"math/bits"
	"unsafe"
)

// MulHi returns the upper half of the product of x and y in twice their width;
// x*y is the lower one.
//
//kiln:intrinsic
func MulHi[T Int | Uint](x, y T) T {
	if n := 8 * unsafe.Sizeof(x); n < 64 {
		return T(int64(x) * int64(y) >> n)
	}
	hi, _ := bits.Mul64(uint64(x), uint64(y))
	if T(0)-1 < 0 { // signed: the unsigned product took a negative factor as 2^64 too large
		hi -= uint64(int64(x)>>63)&uint64(y) + uint64(int64(y)>>63)&uint64(x)
	}
	return T(hi)
}

// Permute returns four of the eight bytes of a and b. Byte i of the result is
// named by bits 4i to 4i+3 of selector: the lower three count from the lowest byte
// of a, 0, to the highest of b, 7; if the fourth is set, the byte is filled with
// the sign of the one that is named. The upper half of selector does not matter.
//
//kiln:intrinsic
func Permute(a, b, selector uint32) uint32 {
	all := uint64(b)<<32 | uint64(a)
	var r uint32
	for i := 0; i < 32; i += 8 {
		x := int8(all >> (8 * (selector & 7)))
		if selector&8 != 0 {
			x >>= 7
		}
		r |= uint32(uint8(x)) << i
		selector >>= 4
	}
	return r
}

// Dot4 returns c plus the dot product of the four bytes of a with those of b. The
// bytes are signed if T is, and the sum wraps.
//
//kiln:intrinsic
func Dot4[T int32 | uint32](a, b, c T) T {
	for i := 0; i < 32; i += 8 {
		if T(0)-1 < 0 {
			c += T(int8(a>>i)) * T(int8(b>>i))
		} else {
			c += T(uint8(a>>i)) * T(uint8(b>>i))
		}
	}
	return c
}
