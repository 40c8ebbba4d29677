package gguf

import (
	"encoding/binary"
	"slices"

	"github.com/gokiln/kiln/tensor/file"
)

// value reads the type of a value and the value of a key.
func (r *reader) value(key string) Value {
	at := r.Pos()
	t := ValueType(r.Uint32("type of the value of " + key))
	if r.Err() == nil && !t.Valid() {
		r.Fail(at, file.ErrFormat, "the value of %q has type %d, which there is not", key, uint32(t))
	}
	if r.Err() != nil {
		return Value{}
	}
	what := "value of " + key
	if t == Array {
		return r.array(&names{key, "type of the elements of " + key, "number of elements of " + key,
			"elements of " + key, "element of " + key}, 1)
	}
	v := Value{typ: t}
	switch t {
	case String:
		v.text = r.str(what, MaxLen)
	case Uint8:
		v.bits = uint64(r.Uint8(what))
	case Int8:
		v.bits = uint64(int8(r.Uint8(what)))
	case Bool:
		v.bits = uint64(r.bool(what))
	case Uint16:
		v.bits = uint64(r.Uint16(what))
	case Int16:
		v.bits = uint64(int16(r.Uint16(what)))
	case Uint32, Float32:
		v.bits = uint64(r.Uint32(what))
	case Int32:
		v.bits = uint64(int32(r.Uint32(what)))
	default:
		v.bits = r.Uint64(what)
	}
	return v
}

// bool reads a bool, which must be 0 or 1.
func (r *reader) bool(what string) uint8 {
	at := r.Pos()
	b := r.Uint8(what)
	if b > 1 {
		r.Fail(at, file.ErrFormat, "%s: the bool %d, want 0 or 1", what, b)
	}
	return b
}

// names is what errors call the parts of an array: one of a key has up to 2³⁰ elements, and the
// texts are as long as the key, so that they are made once.
type names struct{ key, typ, count, elements, element string }

// array reads an array that is in so many arrays, itself included.
func (r *reader) array(of *names, depth int) Value {
	key, at := of.key, r.Pos()
	elem := ValueType(r.Uint32(of.typ))
	n := r.length(of.count)
	switch {
	case r.Err() != nil:
	case !elem.Valid():
		r.Fail(at, file.ErrFormat, "the elements of %q have type %d, which there is not", key,
			uint32(elem))
	case n > MaxLen:
		r.Fail(at, file.ErrFormat, "%q has %d elements, want %d at most", key, n, MaxLen)
	case elem == Array && depth >= MaxDepth:
		r.Fail(at, file.ErrFormat, "%q has arrays within each other more than %d times", key, MaxDepth)
	}
	each := valueTypes[min(elem, Float64)].size
	switch elem {
	case String:
		each = r.lengthSize()
	case Array:
		each = 4 + r.lengthSize()
	}
	if !r.Fits(at, n, uint64(each), of.elements) {
		return Value{}
	}
	v := Value{typ: Array, elem: elem, bits: n}
	switch elem {
	case Array:
		list := []Value{} // grows as elements are read
		for i := uint64(0); i < n && r.Err() == nil; i++ {
			list = append(list, r.array(of, depth+1))
		}
		v.list = list
	case String:
		list := []string{}
		for i := uint64(0); i < n && r.Err() == nil; i++ {
			list = append(list, r.str(of.element, MaxLen))
		}
		v.list = list
	default:
		v.list = r.numbers(of, elem, int(n))
	}
	return v
}

// numbers reads the elements of an array.
func (r *reader) numbers(of *names, elem ValueType, n int) any {
	at := r.Pos()
	b := r.Take(int64(n)*int64(valueTypes[elem].size), of.elements)
	if r.Err() != nil {
		return nil
	}
	switch elem {
	case Uint8:
		return append([]uint8{}, b...)
	case Int8:
		return decode[int8](r, b, n)
	case Uint16:
		return decode[uint16](r, b, n)
	case Int16:
		return decode[int16](r, b, n)
	case Uint32:
		return decode[uint32](r, b, n)
	case Int32:
		return decode[int32](r, b, n)
	case Float32:
		return decode[float32](r, b, n)
	case Uint64:
		return decode[uint64](r, b, n)
	case Int64:
		return decode[int64](r, b, n)
	case Float64:
		return decode[float64](r, b, n)
	}
	if i := slices.IndexFunc(b, func(c byte) bool { return c > 1 }); i >= 0 {
		r.Fail(at+int64(i), file.ErrFormat, "element %d of %q: the bool %d, want 0 or 1", i,
			of.key, b[i])
	}
	return decode[bool](r, b, n)
}

// decode makes n elements of their bytes.
func decode[T Scalar](r *reader, b []byte, n int) []T {
	list := make([]T, n)
	if _, err := binary.Decode(b, r.Order, list); err != nil {
		r.Set(err)
	}
	return list
}
