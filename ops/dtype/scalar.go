package dtype

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unsafe"
)

// Scalar is one number of an element type.
type Scalar struct {
	dtype DType
	bits  uint64 // of the element, zero-extended
}

// New returns a number of the type that T is.
func New[T Element](x T) Scalar { return Scalar{Of[T](), bitsOf(x)} }

// bitsOf returns the bits of an element, zero-extended.
func bitsOf[T Element](x T) uint64 {
	p := unsafe.Pointer(&x)
	switch unsafe.Sizeof(x) {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

// element is the element that has such bits.
func element[T Element](bits uint64) (x T) {
	p := unsafe.Pointer(&x)
	switch unsafe.Sizeof(x) {
	case 1:
		*(*uint8)(p) = uint8(bits)
	case 2:
		*(*uint16)(p) = uint16(bits)
	case 4:
		*(*uint32)(p) = uint32(bits)
	default:
		*(*uint64)(p) = bits
	}
	return x
}

// FromFloat returns the number of type d that is nearest to x; for an integer type
// the fraction is cut off, what is out of range becomes the nearest end, and NaN 0.
func FromFloat(d DType, x float64) Scalar {
	if !d.Computes() {
		return Scalar{}
	}
	return Scalar{d, rows[d].ofFloat(x)}
}

// FromInt is [FromFloat] of an integer: to an integer type of fewer bits it saturates.
func FromInt(d DType, x int64) Scalar {
	switch {
	case !d.Computes():
		return Scalar{}
	case d == I64:
		return New(x)
	case d.IsInt():
		return FromFloat(d, float64(x)) // saturates; 32 bits are exact
	}
	return Scalar{d, rows[d].ofInt(x)}
}

// Zero returns the zero of a type.
func Zero(d DType) Scalar { return FromFloat(d, 0) }

// One returns the one of a type.
func One(d DType) Scalar { return FromFloat(d, 1) }

// DType is the type of the number, Invalid for the zero Scalar.
func (s Scalar) DType() DType { return s.dtype }

// Bits returns the element's bits, zero-extended.
func (s Scalar) Bits() uint64 { return s.bits }

// FromBits returns the number of type d with such bits.
func FromBits(d DType, bits uint64) Scalar {
	if !d.Computes() {
		return Scalar{}
	}
	return Scalar{d, bits & (math.MaxUint64 >> (64 - d.Bits()))}
}

// Float returns the number as a float64. Only large numbers of I64 are rounded.
func (s Scalar) Float() float64 {
	if s.dtype == Invalid {
		return 0
	}
	return rows[s.dtype].float(s.bits)
}

// Int returns the number as an int64: see [FromFloat].
func (s Scalar) Int() int64 {
	if s.dtype == Invalid {
		return 0
	}
	return rows[s.dtype].int(s.bits)
}

// Convert returns the number in another type, as a cast of a tensor does.
func (s Scalar) Convert(d DType) Scalar {
	switch {
	case s.dtype == d:
		return s
	case s.dtype.IsInt() && d.IsInt():
		return FromBits(d, uint64(s.Int())) // wraps, as Go's conversions do
	case s.dtype.IsInt():
		return FromInt(d, s.Int())
	}
	return FromFloat(d, s.Float())
}

// Append appends the element as memory has it, in little-endian order.
func (s Scalar) Append(b []byte) []byte {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], s.bits)
	return append(b, word[:s.dtype.Size()]...)
}

// String formats the number with as many digits as its type needs.
func (s Scalar) String() string {
	switch {
	case s.dtype.IsInt():
		return strconv.FormatInt(s.Int(), 10)
	case s.dtype == F64:
		return strconv.FormatFloat(s.Float(), 'g', -1, 64)
	case s.dtype.IsFloat():
		return strconv.FormatFloat(s.Float(), 'g', -1, 32)
	}
	return fmt.Sprintf("%s(%#x)", s.dtype, s.bits)
}
