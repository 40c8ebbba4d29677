package dtype

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/gokiln/kiln/dsl"
)

// Scalar is one number of an element type.
type Scalar struct {
	dtype DType
	bits  uint64 // of the element, zero-extended
}

// New returns a number of the type that T is.
func New[T Element](x T) Scalar {
	s := Scalar{dtype: Of[T]()}
	switch v := any(x).(type) {
	case uint8:
		s.bits = uint64(v)
	case uint32:
		s.bits = uint64(v)
	case int16:
		s.bits = uint64(uint16(v))
	case int32:
		s.bits = uint64(uint32(v))
	case int64:
		s.bits = uint64(v)
	case dsl.BF16:
		s.bits = uint64(v)
	case dsl.F16:
		s.bits = uint64(v)
	case float32:
		s.bits = uint64(math.Float32bits(v))
	case float64:
		s.bits = math.Float64bits(v)
	case dsl.F8E4M3:
		s.bits = uint64(v)
	case dsl.F8E5M2:
		s.bits = uint64(v)
	}
	return s
}

// FromFloat returns the number of type d that is nearest to x; for an integer type
// the fraction is cut off, what is out of range becomes the nearest end, and NaN 0.
func FromFloat(d DType, x float64) Scalar {
	if f := ofFloat[d]; d.Computes() {
		return f(x)
	}
	return Scalar{}
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
	return ofInt[d](x)
}

func via[T Element](x float64) Scalar  { return New(dsl.Convert[T](x)) }
func viaInt[T Element](x int64) Scalar { return New(dsl.Convert[T](x)) }

var ofFloat = [count]func(float64) Scalar{
	U8: via[uint8], U32: via[uint32], I16: via[int16], I32: via[int32], I64: via[int64],
	BF16: via[dsl.BF16], F16: via[dsl.F16], F32: via[float32], F64: via[float64], F8E4M3: via[dsl.F8E4M3], F8E5M2: via[dsl.F8E5M2],
}

var ofInt = [count]func(int64) Scalar{
	BF16: viaInt[dsl.BF16], F16: viaInt[dsl.F16], F32: viaInt[float32], F64: viaInt[float64], F8E4M3: viaInt[dsl.F8E4M3], F8E5M2: viaInt[dsl.F8E5M2],
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
	switch s.dtype {
	case BF16:
		return dsl.F64(dsl.BF16(s.bits))
	case F16:
		return dsl.F64(dsl.F16(s.bits))
	case F32:
		return float64(math.Float32frombits(uint32(s.bits)))
	case F64:
		return math.Float64frombits(s.bits)
	case F8E4M3:
		return dsl.F64(dsl.F8E4M3(s.bits))
	case F8E5M2:
		return dsl.F64(dsl.F8E5M2(s.bits))
	}
	return float64(s.Int())
}

// Int returns the number as an int64: see [FromFloat].
func (s Scalar) Int() int64 {
	switch s.dtype {
	case U8, U32, I64:
		return int64(s.bits)
	case I16:
		return int64(int16(s.bits))
	case I32:
		return int64(int32(s.bits))
	case Invalid:
		return 0
	}
	return dsl.Convert[int64](s.Float())
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
