package runtime

import (
	"fmt"
	"unsafe"
)

// View is a buffer as elements of type T, from its beginning; what is left at the end
// is not part of it. It is for programs that know their types at run time only.
func View[T any](b *Buffer) (Slice[T], error) {
	size, err := elemSize[T]()
	if err != nil || b == nil {
		return Slice[T]{}, err
	}
	if size == 0 {
		return Slice[T]{}, fmt.Errorf("%s: elements of %T have no size", b.Device().Name(), *new(T))
	}
	return Slice[T]{buf: b, n: b.Size() / size}, nil
}

// SliceOf is the Slice that a header is the memory of. The header says nothing of the
// element type: offset and length are in elements of type T.
func SliceOf[T any](h SliceHeader) Slice[T] { return *(*Slice[T])(unsafe.Pointer(&h)) }
