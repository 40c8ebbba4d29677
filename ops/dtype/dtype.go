package dtype

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gokiln/kiln/dsl"
)

// DType is the type of a tensor's elements. The zero DType is none.
type DType uint8

// The element types. F4 and those after it are storage only: no operation takes them.
const (
	Invalid DType = iota
	U8
	U32
	I8
	I16
	I32
	I64
	BF16
	F16
	F32
	F64
	F8E4M3
	F8E5M2
	F4     // 4 bits, two to a byte: e2m1
	F6E2M3 // 6 bits, four to three bytes
	F6E3M2 // 6 bits, four to three bytes
	F8E8M0 // a power of two, the scale of a block
	count
)

// class says what a type is for.
type class uint8

const (
	integer class = iota
	float
	storage
)

// row is what there is to know of a type.
type row struct {
	name  string
	bits  int
	class class
	typ   reflect.Type // of an element in Go; of a byte where elements share bytes

	unsigned bool

	// Conversions of a number to bits and back; nil of what is only stored.
	ofFloat func(float64) (bits uint64)
	ofInt   func(int64) (bits uint64)
	float   func(bits uint64) float64
	int     func(bits uint64) int64
}

// rows is the table of the types: all that other packages know of one, they ask it for.
var rows = [count]row{
	U8:     of[uint8]("u8", integer),
	U32:    of[uint32]("u32", integer),
	I8:     of[int8]("i8", integer),
	I16:    of[int16]("i16", integer),
	I32:    of[int32]("i32", integer),
	I64:    of[int64]("i64", integer),
	BF16:   of[dsl.BF16]("bf16", float),
	F16:    of[dsl.F16]("f16", float),
	F32:    of[float32]("f32", float),
	F64:    of[float64]("f64", float),
	F8E4M3: of[dsl.F8E4M3]("f8e4m3", float),
	F8E5M2: of[dsl.F8E5M2]("f8e5m2", float),
	F4:     stored("f4", 4),
	F6E2M3: stored("f6e2m3", 6),
	F6E3M2: stored("f6e3m2", 6),
	F8E8M0: stored("f8e8m0", 8),
}

// of is the row of a type whose elements are numbers of Go or of package dsl.
func of[T Element](name string, class class) row {
	t := reflect.TypeFor[T]()
	return row{
		name: name, bits: 8 * int(t.Size()), class: class, typ: t,
		unsigned: class == integer && t.Kind() >= reflect.Uint8,
		ofFloat:  func(x float64) uint64 { return bitsOf(dsl.Convert[T](x)) },
		ofInt:    func(x int64) uint64 { return bitsOf(dsl.Convert[T](x)) },
		float:    func(bits uint64) float64 { return dsl.F64(element[T](bits)) },
		int:      func(bits uint64) int64 { return dsl.Convert[int64](element[T](bits)) },
	}
}

// stored is the row of a type that is only stored and moved.
func stored(name string, bits int) row {
	return row{name: name, bits: bits, class: storage, typ: reflect.TypeFor[uint8]()}
}

// Element is a Go type that is an element type.
type Element interface {
	uint8 | uint32 | int8 | int16 | int32 | int64 | dsl.BF16 | dsl.F16 | float32 | float64 | dsl.F8E4M3 | dsl.F8E5M2
}

// All returns the types that operations compute with.
func All() []DType { return slices.Clone(all) }

var all = list(func(d DType) bool { return d.Computes() })

// Floats returns the floating-point types that operations compute with.
func Floats() []DType { return list(DType.IsFloat) }

// Ints returns the integer types.
func Ints() []DType { return list(DType.IsInt) }

func list(in func(DType) bool) (out []DType) {
	for d := Invalid + 1; d < count; d++ {
		if in(d) {
			out = append(out, d)
		}
	}
	return out
}

// Of returns the DType of a Go type.
func Of[T Element]() DType {
	t := reflect.TypeFor[T]()
	for _, d := range all {
		if rows[d].typ == t {
			return d
		}
	}
	return Invalid // no Element is without one
}

// Parse returns the type of a name, which is in lower case.
func Parse(name string) (DType, error) {
	for d := Invalid + 1; d < count; d++ {
		if rows[d].name == name {
			return d, nil
		}
	}
	var names []string
	for _, r := range rows[1:] {
		names = append(names, r.name)
	}
	return Invalid, fmt.Errorf("cannot parse %q as a dtype: there are %s", name, strings.Join(names, ", "))
}

// String returns the name.
func (d DType) String() string {
	if !d.Valid() {
		return "invalid"
	}
	return rows[d].name
}

// Valid reports whether d is one of the types.
func (d DType) Valid() bool { return d > Invalid && d < count }

// Computes reports whether operations take the type.
func (d DType) Computes() bool { return d.Valid() && rows[d].class != storage }

// IsFloat reports whether d is a floating-point type that operations take.
func (d DType) IsFloat() bool { return d.Valid() && rows[d].class == float }

// IsInt reports whether d is an integer type.
func (d DType) IsInt() bool { return d.Valid() && rows[d].class == integer }

// IsUnsigned reports whether d is an integer type without negative numbers.
func (d DType) IsUnsigned() bool { return d.Valid() && rows[d].unsigned }

// Bits is the size of an element in bits.
func (d DType) Bits() int {
	if !d.Valid() {
		return 0
	}
	return rows[d].bits
}

// Size is the size of an element in bytes, 0 where elements share bytes.
func (d DType) Size() int {
	if b := d.Bits(); b%8 == 0 {
		return b / 8
	}
	return 0
}

// Bytes is the size of n elements, rounded up to whole bytes.
func (d DType) Bytes(n int) int {
	if s := d.Size(); s != 0 {
		return n * s
	}
	return n/8*d.Bits() + (n%8*d.Bits()+7)/8
}

// Type is the Go type of an element, that of a byte where elements share bytes.
func (d DType) Type() reflect.Type {
	if !d.Valid() {
		return nil
	}
	return rows[d].typ
}

// Compute is the type that kernels compute in: F32 for floating-point types of fewer
// bits, which are storage, and d itself for others.
func (d DType) Compute() DType {
	if d.IsFloat() && d.Bits() < 32 {
		return F32
	}
	return d
}
