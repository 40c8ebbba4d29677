package gen

import "fmt"

type kind int

const (
	scalar kind = iota
	array
	structure
	slice
	pointer
)

// typ is a type of the generated program.
type typ struct {
	kind   kind
	name   string // of a scalar or struct
	bits   int    // of a number
	signed bool
	float  bool
	elem   *typ
	n      int // length of an array, or the known length of a slice, 0 if unknown
	fields []field
}

type field struct {
	name string
	t    *typ
}

func number(name string, bits int, signed, float bool) *typ {
	return &typ{name: name, bits: bits, signed: signed, float: float}
}

var (
	boolT = &typ{name: "bool"}
	i8    = number("int8", 8, true, false)
	i16   = number("int16", 16, true, false)
	i32   = number("int32", 32, true, false)
	i64   = number("int64", 64, true, false)
	intT  = number("int", 64, true, false)
	u8    = number("uint8", 8, false, false)
	u16   = number("uint16", 16, false, false)
	u32   = number("uint32", 32, false, false)
	u64   = number("uint64", 64, false, false)
	uintT = number("uint", 64, false, false)
	f32   = number("float32", 32, true, true)
	f64   = number("float64", 64, true, true)

	numbers = []*typ{i8, i16, i32, i64, intT, u8, u16, u32, u64, uintT, f32, f64, i32, intT, u32, f32}
	ints    = []*typ{i8, i16, i32, i64, intT, u8, u16, u32, u64, uintT}
	words   = []*typ{i32, i64, intT, u32, u64, uintT, f32, f64}
	scalars = append([]*typ{boolT}, numbers...)
)

func (t *typ) integer() bool { return t.bits > 0 && !t.float }

func (t *typ) String() string {
	switch t.kind {
	case array:
		return fmt.Sprintf("[%d]%s", t.n, t.elem)
	case slice:
		return "[]" + t.elem.String()
	case pointer:
		return "*" + t.elem.String()
	}
	return t.name
}

// has reports whether a scalar of type want can be reached from a value of
// type t.
func (t *typ) has(want *typ) bool {
	switch t.kind {
	case scalar:
		return t == want
	case structure:
		for _, f := range t.fields {
			if f.t.has(want) {
				return true
			}
		}
		return false
	}
	return t.elem.has(want)
}

// comparable reports whether == means the same for every pair of values that
// programs can make. It is false for functions and slices.
func (t *typ) comparable() bool {
	switch t.kind {
	case scalar:
		return true
	case array:
		return t.elem.comparable()
	case structure:
		for _, f := range t.fields {
			if !f.t.comparable() {
				return false
			}
		}
		return true
	}
	return false
}
