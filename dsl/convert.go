package dsl

import (
	"math"
	"unsafe"

	"github.com/x448/float16"

	"github.com/gokiln/kiln/dsl/internal/host"
)

// F32 converts x to float32, rounding to nearest even.
//
//kiln:intrinsic
//kiln:dispatch
func F32[T Number](x T) float32 {
	switch v := any(x).(type) {
	case F16:
		return v.Float32()
	case BF16:
		return math.Float32frombits(uint32(v) << 16)
	case F8E4M3:
		return f32E4M3(v)
	case F8E5M2:
		return f32E5M2(v)
	}
	return float32(x)
}

// F64 converts x to float64. Only 64-bit integers are ever rounded.
//
//kiln:intrinsic
//kiln:dispatch
func F64[T Number](x T) float64 {
	switch v := any(x).(type) {
	case F16:
		return float64(v.Float32())
	case BF16:
		return float64(math.Float32frombits(uint32(v) << 16))
	case F8E4M3:
		return f64E4M3(v)
	case F8E5M2:
		return f64E5M2(v)
	}
	return float64(x)
}

// To converts x to T, rounding to nearest even. Values out of range become
// infinite, and NaN stays NaN; but in 8 bits, values out of range and infinities
// become the largest number of their sign, and any NaN becomes 0x7F.
//
//kiln:intrinsic
//kiln:dispatch
func To[T Float](x float32) T {
	var out T
	switch p := any(&out).(type) {
	case *F16:
		*p = float16.Fromfloat32(x)
	case *BF16:
		*p = bf16(x)
	case *F8E4M3:
		*p = toE4M3(x)
	case *F8E5M2:
		*p = toE5M2(x)
	default:
		return T(x)
	}
	return out
}

// Convert converts x to D by value, between any two types: what F32, F64, To and a
// conversion of Go do for those they are for. A fraction is truncated in conversions to an
// integer, a float out of the integer's range becomes its nearest value, and NaN 0.
// From 64 bits, other than floats, to F8E4M3 and F8E5M2 it rounds twice, by float32.
//
//kiln:intrinsic
func Convert[D, S Number](x S) D {
	if d, ok := any(x).(D); ok {
		return d
	}
	var out D
	switch p := any(&out).(type) {
	case *F16:
		*p = float16.Fromfloat32(host.Odd(x, F64(x)))
	case *BF16:
		*p = bf16(host.Odd(x, F64(x)))
	case *F8E4M3:
		*p = toE4M3(F32(x))
	case *F8E5M2:
		*p = toE5M2(F32(x))
	default:
		half := 0.5
		switch {
		case D(half) == 0: // an integer
			return host.ToInt[D](x, F64(x))
		case unsafe.Sizeof(out) == 4:
			return D(F32(x))
		}
		return D(F64(x))
	}
	return out
}

// bf16 rounds by adding half of the last kept bit, less one where that bit is
// even. A NaN is cut and made quiet, since the addition could carry it to zero.
func bf16(x float32) BF16 {
	b := math.Float32bits(x)
	if b&0x7FFFFFFF > 0x7F800000 {
		return BF16(b>>16 | 0x40)
	}
	return BF16((b + 0x7FFF + b>>16&1) >> 16)
}
