package host

import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"
)

// sharedKey names one shared object of a block: its type and the source
// position of the call that makes it.
type sharedKey struct {
	at  position
	typ reflect.Type
}

// sharedObject is one object and the call that made it. The call is kept to
// find two calls on one line, which the key cannot tell apart.
type sharedObject struct {
	ptr      unsafe.Pointer
	function string
	pc       uintptr
}

// Shared returns the block's object of type T that belongs to the source
// position from which the caller of Shared was called.
//
//go:noinline
func Shared[T any](l *Lane) *T {
	l.Must()
	var pcs [4]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	f, _ := frames.Next()
	key := sharedKey{position{f.File, f.Line}, reflect.TypeFor[T]()}
	call := sharedObject{pc: f.PC}
	if f.Func != nil { // inlined calls have no function, and as many PCs as copies
		call.function = f.Function
	}
	if o, ok := l.run.shared[key]; ok {
		if o.function != "" && o.function == call.function && o.pc != call.pc {
			panic(fmt.Sprintf("two calls of Shared[%v] stand on one line (%v); put them on lines of their own", key.typ, key.at))
		}
		return (*T)(o.ptr)
	}
	p := new(T)
	poison(unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p)), key)
	call.ptr = unsafe.Pointer(p)
	l.run.shared[key] = call
	return p
}

// poison fills fresh shared memory with bytes that make reading it before
// writing it visible: NaN in floats, -1 in integers.
func poison(b []byte, key sharedKey) {
	var fill byte = 0xFF
	switch kind := storage(key.typ); kind {
	case reflect.Invalid:
	case reflect.Bool:
		fill = 1 // other values are no bools
	default:
		panic(fmt.Sprintf("Shared[%v] at %v holds a %v; shared memory takes numbers, bools, and arrays and structs of them", key.typ, key.at, kind))
	}
	for i := range b {
		b[i] = fill
	}
}

// storage finds what in t forbids arbitrary bytes: the kind of the first part
// that is neither number nor aggregate, Bool when that is all there is, and
// Invalid for plain numbers.
func storage(t reflect.Type) reflect.Kind {
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return k
	case k >= reflect.Int && k <= reflect.Uint64, k == reflect.Float32, k == reflect.Float64:
		return reflect.Invalid
	case k == reflect.Array:
		return storage(t.Elem())
	case k == reflect.Struct:
		found := reflect.Invalid
		for i := range t.NumField() {
			if f := storage(t.Field(i).Type); f > found {
				found = f
			}
		}
		return found
	default:
		return k
	}
}
