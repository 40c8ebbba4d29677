package ops

import (
	"reflect"
	"strings"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/runtime"
)

// sliceOf has a slice of each element type.
var sliceOf = [32]any{
	dtype.U8: runtime.Slice[uint8]{}, dtype.U32: runtime.Slice[uint32]{}, dtype.I8: runtime.Slice[int8]{}, dtype.I16: runtime.Slice[int16]{}, dtype.I32: runtime.Slice[int32]{},
	dtype.I64: runtime.Slice[int64]{}, dtype.BF16: runtime.Slice[dsl.BF16]{}, dtype.F16: runtime.Slice[dsl.F16]{}, dtype.F32: runtime.Slice[float32]{},
	dtype.F64: runtime.Slice[float64]{}, dtype.F8E4M3: runtime.Slice[dsl.F8E4M3]{}, dtype.F8E5M2: runtime.Slice[dsl.F8E5M2]{},
}

// Types is a set of element types.
type Types uint32

// Sets of element types.
const (
	Numbers = Types(1)<<dtype.F4 - 2 // all that compute
	Floats  = Types(1)<<dtype.F4 - Types(1)<<dtype.BF16
	Ints    = Numbers &^ Floats
)

// Has reports whether a type is in the set.
func (t Types) Has(d dtype.DType) bool { return t>>d&1 != 0 }

// String lists the types.
func (t Types) String() string {
	var names []string
	for _, d := range dtype.All() {
		if t.Has(d) {
			names = append(names, d.String())
		}
	}
	return strings.Join(names, ", ")
}

// The types of keys.
var (
	Uint32Type = reflect.TypeFor[uint32]()
	Uint64Type = reflect.TypeFor[uint64]()
)

// Carrier is the integer type that moves elements of a type.
func Carrier(d dtype.DType) dtype.DType {
	switch d.Size() {
	case 1:
		return dtype.U8
	case 2:
		return dtype.I16
	case 4:
		return dtype.U32
	case 8:
		return dtype.I64
	}
	return d
}
