package ops

import (
	"reflect"
	"strings"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/runtime"
)

// sliceOf has a slice of each element type.
var sliceOf = [32]any{
	dtype.U8: runtime.Slice[uint8]{}, dtype.U32: runtime.Slice[uint32]{}, dtype.I16: runtime.Slice[int16]{}, dtype.I32: runtime.Slice[int32]{},
	dtype.I64: runtime.Slice[int64]{}, dtype.BF16: runtime.Slice[dsl.BF16]{}, dtype.F16: runtime.Slice[dsl.F16]{}, dtype.F32: runtime.Slice[float32]{},
	dtype.F64: runtime.Slice[float64]{}, dtype.F8E4M3: runtime.Slice[dsl.F8E4M3]{}, dtype.F8E5M2: runtime.Slice[dsl.F8E5M2]{},
}

// types is a set of element types.
type types uint32

const (
	numbers = types(1)<<dtype.F4 - 2 // all that compute
	floats  = types(1)<<dtype.F4 - types(1)<<dtype.BF16
	ints    = numbers &^ floats
)

func (t types) has(d dtype.DType) bool { return t>>d&1 != 0 }

// String lists the types.
func (t types) String() string {
	var names []string
	for _, d := range dtype.All() {
		if t.has(d) {
			names = append(names, d.String())
		}
	}
	return strings.Join(names, ", ")
}

var (
	threadType = reflect.TypeFor[dsl.Thread]()
	walkType   = reflect.TypeFor[kernels.Walk]()
	lineType   = reflect.TypeFor[kernels.Line]()
	boolType   = reflect.TypeFor[bool]()
)

// function returns the type of a function of n numbers to one, all of type in.
func function(n int, in, out reflect.Type) reflect.Type {
	args := make([]reflect.Type, n)
	for i := range args {
		args[i] = in
	}
	return reflect.FuncOf(args, []reflect.Type{out}, false)
}

// kernelType returns the type of a kernel with such parameters.
func kernelType(params ...reflect.Type) reflect.Type {
	return reflect.FuncOf(append([]reflect.Type{threadType}, params...), nil, false)
}
