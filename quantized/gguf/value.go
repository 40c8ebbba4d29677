package gguf

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ValueType is the type of a value of the metadata.
type ValueType uint32

// The types, by their numbers in files.
const (
	Uint8 ValueType = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	Array
	Uint64
	Int64
	Float64
)

// valueTypes has what is to be known of each: the name, and the bytes of a value, 0 if they vary.
var valueTypes = [...]struct {
	name string
	size int
}{
	Uint8: {"u8", 1}, Int8: {"i8", 1}, Uint16: {"u16", 2}, Int16: {"i16", 2},
	Uint32: {"u32", 4}, Int32: {"i32", 4}, Float32: {"f32", 4}, Bool: {"bool", 1},
	String: {"str", 0}, Array: {"arr", 0}, Uint64: {"u64", 8}, Int64: {"i64", 8}, Float64: {"f64", 8},
}

// Valid reports whether there is such a type.
func (t ValueType) Valid() bool { return int(t) < len(valueTypes) }

// String is the name, such as u32.
func (t ValueType) String() string {
	if !t.Valid() {
		return fmt.Sprintf("ValueType(%d)", uint32(t))
	}
	return valueTypes[t].name
}

// Scalar is the Go types of values that are no arrays.
type Scalar interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32 | float64 | bool | string
}

// typeOf is the value type of a Go type.
func typeOf[T Scalar]() ValueType {
	switch any(*new(T)).(type) {
	case uint8:
		return Uint8
	case int8:
		return Int8
	case uint16:
		return Uint16
	case int16:
		return Int16
	case uint32:
		return Uint32
	case int32:
		return Int32
	case uint64:
		return Uint64
	case int64:
		return Int64
	case float32:
		return Float32
	case float64:
		return Float64
	case bool:
		return Bool
	}
	return String
}

// Value is a value of the metadata, with its type. The zero Value is the u8 0.
type Value struct {
	typ  ValueType
	elem ValueType // of an array
	bits uint64    // an integer with its sign extended, the bits of a float, the length of an array
	text string
	list any // of an array: []T of its elements, []Value of arrays
}

// Of returns a number, bool or string as a value.
func Of[T Scalar](x T) Value {
	v := Value{typ: typeOf[T]()}
	switch x := any(x).(type) {
	case uint8:
		v.bits = uint64(x)
	case int8:
		v.bits = uint64(x)
	case uint16:
		v.bits = uint64(x)
	case int16:
		v.bits = uint64(x)
	case uint32:
		v.bits = uint64(x)
	case int32:
		v.bits = uint64(x)
	case uint64:
		v.bits = x
	case int64:
		v.bits = uint64(x)
	case float32:
		v.bits = uint64(math.Float32bits(x))
	case float64:
		v.bits = math.Float64bits(x)
	case bool:
		if x {
			v.bits = 1
		}
	case string:
		v.text = x
	}
	return v
}

// ListOf returns an array as a value, which keeps the slice.
func ListOf[T Scalar](x []T) Value {
	if x == nil {
		x = []T{}
	}
	return Value{typ: Array, elem: typeOf[T](), bits: uint64(len(x)), list: x}
}

// Nested returns an array of arrays. Readers other than this one may refuse it, llama.cpp for one.
// A value that is no array is an error when it is written.
func Nested(arrays ...Value) Value {
	return Value{typ: Array, elem: Array, bits: uint64(len(arrays)), list: append([]Value{},
		arrays...)}
}

// Type is the type of the value.
func (v Value) Type() ValueType { return v.typ }

// Elem is the type of the elements of an array.
func (v Value) Elem() ValueType { return v.elem }

// Len is the number of elements of an array, 0 for other values.
func (v Value) Len() int {
	if v.typ != Array {
		return 0
	}
	return int(v.bits)
}

// Arrays returns the elements of an array of arrays. They must not be changed.
func (v Value) Arrays() ([]Value, bool) {
	list, ok := v.list.([]Value)
	return list, ok
}

// each calls f with each element of an array until one returns an error.
func (v Value) each(f func(Value) error) error {
	switch l := v.list.(type) {
	case []uint8:
		return eachOf(l, f)
	case []int8:
		return eachOf(l, f)
	case []uint16:
		return eachOf(l, f)
	case []int16:
		return eachOf(l, f)
	case []uint32:
		return eachOf(l, f)
	case []int32:
		return eachOf(l, f)
	case []uint64:
		return eachOf(l, f)
	case []int64:
		return eachOf(l, f)
	case []float32:
		return eachOf(l, f)
	case []float64:
		return eachOf(l, f)
	case []bool:
		return eachOf(l, f)
	case []string:
		return eachOf(l, f)
	case []Value:
		for _, x := range l {
			if err := f(x); err != nil {
				return err
			}
		}
	}
	return nil
}

func eachOf[T Scalar](l []T, f func(Value) error) error {
	for _, x := range l {
		if err := f(Of(x)); err != nil {
			return err
		}
	}
	return nil
}

// As returns a value as a Go type. Integers, and false and true as 0 and 1, are returned as any
// integer type that can hold them, f32 also as float64; all else must have the type.
func As[T Scalar](v Value) (T, error) {
	var x T
	ok := false
	switch p := any(&x).(type) {
	case *uint8:
		*p, ok = integer[uint8](v)
	case *int8:
		*p, ok = integer[int8](v)
	case *uint16:
		*p, ok = integer[uint16](v)
	case *int16:
		*p, ok = integer[int16](v)
	case *uint32:
		*p, ok = integer[uint32](v)
	case *int32:
		*p, ok = integer[int32](v)
	case *uint64:
		*p, ok = integer[uint64](v)
	case *int64:
		*p, ok = integer[int64](v)
	case *float32:
		*p, ok = math.Float32frombits(uint32(v.bits)), v.typ == Float32
	case *float64:
		if ok = v.typ == Float64; ok {
			*p = math.Float64frombits(v.bits)
		} else if ok = v.typ == Float32; ok {
			*p = float64(math.Float32frombits(uint32(v.bits)))
		}
	case *bool:
		*p, ok = v.bits != 0, v.typ == Bool
	case *string:
		*p, ok = v.text, v.typ == String
	}
	if !ok {
		return *new(T), fmt.Errorf("%w: %s %s, not %s", ErrValue, v.typ, v, typeOf[T]())
	}
	return x, nil
}

// integer converts an integer or bool, if the type can hold it.
func integer[T uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64](v Value) (T, bool) {
	x := T(v.bits)
	switch v.typ {
	case Int8, Int16, Int32, Int64:
		return x, int64(x) == int64(v.bits) && (x < 0) == (int64(v.bits) < 0)
	case Uint8, Uint16, Uint32, Uint64, Bool:
		return x, uint64(x) == v.bits && x >= 0
	}
	return 0, false
}

// ListAs returns the elements of an array as a Go type, each as [As] does. If the array has
// elements of this type, it is its own slice, which must not be changed.
func ListAs[T Scalar](v Value) ([]T, error) {
	if l, ok := v.list.([]T); ok {
		return l, nil
	}
	if v.typ != Array || v.elem == Array {
		return nil, fmt.Errorf("%w: %s %s, not an array of %s", ErrValue, v.typ, v, typeOf[T]())
	}
	list := []T{}
	err := v.each(func(e Value) error {
		x, err := As[T](e)
		if err != nil {
			return fmt.Errorf("element %d: %w", len(list), err)
		}
		list = append(list, x)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// shown is how many elements of an array String has.
const shown = 8

// String is the value as text. Of long arrays it has the first elements and the number of them.
func (v Value) String() string {
	switch v.typ {
	case String:
		return v.text
	case Bool:
		return fmt.Sprint(v.bits != 0)
	case Float32:
		return fmt.Sprint(math.Float32frombits(uint32(v.bits)))
	case Float64:
		return fmt.Sprint(math.Float64frombits(v.bits))
	case Int8, Int16, Int32, Int64:
		return fmt.Sprint(int64(v.bits))
	case Array:
		return v.listText()
	}
	return fmt.Sprint(v.bits)
}

func (v Value) listText() string {
	var items []string
	_ = v.each(func(e Value) error {
		if len(items) == shown {
			items = append(items, fmt.Sprintf("… %d in all", v.Len()))
			return errEnough
		}
		text := e.String()
		if e.typ == String {
			text = strconv.Quote(text)
		}
		items = append(items, text)
		return nil
	})
	return "[" + strings.Join(items, " ") + "]"
}

// errEnough ends going through elements.
var errEnough = errors.New("enough")
