package dsl

import (
	"fmt"
	"reflect"
)

// Assert fails the kernel unless cond holds. The next Sync of its stream or copy
// to the host returns an error that names the kernel, the source position of the call, the
// block, the thread, and msg, a constant. The thread ends there; what others of the
// launch write is undefined.
//
// With one or two integers msg is a format for them, as of package fmt:
//
//	dsl.Assert(t, x < n, "index %d at position %d is out of range", x, i)
//
//kiln:intrinsic
func Assert(t Thread, cond bool, msg string, values ...any) {
	if !cond {
		t.h.Must().Fail(msg, values...)
	}
}

// Printf prints numbers and bools as package fmt does. The format is a constant.
// What a launch prints appears with the next Sync of its stream or copy to the
// host, on standard error or where runtime.Device.SetOutput says; it is ordered by
// block, and within a block by thread. There is room for some ten thousand calls
// until then; how many more there were is said at the end.
//
// Of a half type print [F32]. Other types are printed as the numbers that they
// are, whatever methods they have.
//
//kiln:intrinsic
func Printf(t Thread, format string, args ...any) {
	plain := make([]any, len(args))
	for i, a := range args {
		plain[i] = printable(a)
	}
	t.h.Must().Printf(format, plain)
}

// basicTypes are the types whose values package fmt prints without methods.
var basicTypes = map[reflect.Kind]reflect.Type{
	reflect.Bool: reflect.TypeFor[bool](),
	reflect.Int:  reflect.TypeFor[int](), reflect.Int8: reflect.TypeFor[int8](), reflect.Int16: reflect.TypeFor[int16](),
	reflect.Int32: reflect.TypeFor[int32](), reflect.Int64: reflect.TypeFor[int64](),
	reflect.Uint: reflect.TypeFor[uint](), reflect.Uint8: reflect.TypeFor[uint8](), reflect.Uint16: reflect.TypeFor[uint16](),
	reflect.Uint32: reflect.TypeFor[uint32](), reflect.Uint64: reflect.TypeFor[uint64](), reflect.Uintptr: reflect.TypeFor[uintptr](),
	reflect.Float32: reflect.TypeFor[float32](), reflect.Float64: reflect.TypeFor[float64](),
}

// printable returns x as a basic type.
func printable(x any) any {
	switch x.(type) {
	case F16, BF16, F8E4M3, F8E5M2:
		panic(fmt.Sprintf("dsl.Printf: %T is storage; print dsl.F32 of it", x))
	}
	v := reflect.ValueOf(x)
	if t := basicTypes[v.Kind()]; t != nil {
		return v.Convert(t).Interface()
	}
	panic(fmt.Sprintf("dsl.Printf takes numbers and bools, not %T", x))
}
