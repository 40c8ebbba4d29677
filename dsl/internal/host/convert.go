package host

import (
	"math"
	"math/bits"
	"reflect"
	"unsafe"
)

// number is what the types of package dsl are made of.
type number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// isInt reports whether T is an integer of Go: halves and 8-bit floats are types of
// their own, made of integers.
func isInt[T number]() bool {
	t := reflect.TypeFor[T]()
	return t.PkgPath() == "" && t.Kind() != reflect.Float32 && t.Kind() != reflect.Float64
}

// ToInt converts x, of which v is the value, to an integer type.
func ToInt[D, S number](x S, v float64) D {
	if isInt[S]() {
		return D(x)
	}
	return saturate[D](math.Trunc(v))
}

// saturate returns an integral x as an integer.
func saturate[D number](x float64) D {
	var zero D
	size := 8 * int(unsafe.Sizeof(zero))
	least, most := 0.0, math.Ldexp(1, size)
	all := D(uint64(math.MaxUint64) >> (64 - size))
	if zero-1 < 0 {
		least, most = -math.Ldexp(1, size-1), math.Ldexp(1, size-1)
		all = D(int64(math.MaxInt64) >> (64 - size))
	}
	switch {
	case x != x:
		return 0
	case x >= most:
		return all
	}
	return D(max(x, least))
}

// Odd rounds x, of which v is the nearest float64, to float32 so that rounding
// again, to a half, gives what rounding x once does: what is cut off makes the last
// bit one (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
func Odd[S number](x S, v float64) float32 {
	if isInt[S]() {
		v = first32(x)
	}
	r := float32(v)
	b := math.Float32bits(r)
	if float64(r) == v || v != v || b&1 != 0 {
		return r
	}
	if math.Abs(float64(r)) > math.Abs(v) {
		return math.Float32frombits(b - 1)
	}
	return math.Float32frombits(b + 1)
}

// first32 returns the first 32 bits of an integer, the last of which stands for all
// that follow.
func first32[S number](x S) float64 {
	u, sign := uint64(x), 1.0
	if x < 0 {
		u, sign = -uint64(x), -1
	}
	if cut := bits.Len64(u) - 32; cut > 0 {
		rest := u & (1<<cut - 1)
		u = u >> cut << cut
		if rest != 0 {
			u |= 1 << cut
		}
	}
	return sign * float64(u)
}
