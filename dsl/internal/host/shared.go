package host

import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"
)

// sharedKey names one shared object of a block: its type and the source
// position of the call that makes it. A slice has a length besides.
type sharedKey struct {
	at  position
	typ reflect.Type
	len int // -1 for Shared
}

func (k sharedKey) String() string {
	if k.len < 0 {
		return fmt.Sprintf("Shared[%v]", k.typ)
	}
	return fmt.Sprintf("SharedSlice[%v]", k.typ)
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
	n := runtime.Callers(3, pcs[:])
	return (*T)(l.object(pcs[:n], sharedKey{typ: reflect.TypeFor[T](), len: -1}, func() (unsafe.Pointer, uintptr) {
		p := new(T)
		return unsafe.Pointer(p), unsafe.Sizeof(*p)
	}))
}

// SharedSlice is Shared for n elements of type T.
//
//go:noinline
func SharedSlice[T any](l *Lane, n int) []T {
	l.Must()
	if n < 0 {
		panic(fmt.Sprintf("SharedSlice[%v] of %d elements", reflect.TypeFor[T](), n))
	}
	var pcs [4]uintptr
	depth := runtime.Callers(3, pcs[:])
	p := l.object(pcs[:depth], sharedKey{typ: reflect.TypeFor[T](), len: n}, func() (unsafe.Pointer, uintptr) {
		s := make([]T, n)
		return unsafe.Pointer(unsafe.SliceData(s)), uintptr(n) * unsafe.Sizeof(*new(T))
	})
	return unsafe.Slice((*T)(p), n)
}

// object returns the block's object of that key, made at the first call.
func (l *Lane) object(pcs []uintptr, key sharedKey, alloc func() (unsafe.Pointer, uintptr)) unsafe.Pointer {
	f, _ := runtime.CallersFrames(pcs).Next()
	key.at = position{f.File, f.Line}
	call := sharedObject{pc: f.PC}
	if f.Func != nil { // inlined calls have no function, and as many PCs as copies
		call.function = f.Function
	}
	if o, ok := l.run.shared[key]; ok {
		if o.function != "" && o.function == call.function && o.pc != call.pc {
			panic(fmt.Sprintf("two calls of %v stand on one line (%v); put them on lines of their own", key, key.at))
		}
		return o.ptr
	}
	p, size := alloc()
	poison(unsafe.Slice((*byte)(p), size), key)
	call.ptr = p
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
		panic(fmt.Sprintf("%v at %v holds a %v; shared memory takes numbers, bools, and arrays and structs of them", key, key.at, kind))
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
