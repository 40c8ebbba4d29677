package ops

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// ErrDType is what an operation says that does not take an element type.
var ErrDType = errors.New("unsupported element type")

// View is elements in memory.
type View struct {
	Buf    *runtime.Buffer // which begins where offset 0 of the layout is; nil if there are no elements
	DType  dtype.DType
	Layout layout.Layout
}

// header is the part of the buffer that the layout reaches over.
func (v *View) header() runtime.SliceHeader {
	return runtime.SliceHeader{Buf: v.Buf, Off: v.Layout.Offset(), Len: v.Layout.Span()}
}

// iface is the memory of an interface value.
type iface struct {
	typ  unsafe.Pointer
	data unsafe.Pointer
}

// sliceTypes and wordTypes are the types of runtime.Slice of each element type, and of an
// element, as interfaces hold them.
var sliceTypes, wordTypes = func() (slices, words [32]unsafe.Pointer) {
	for _, d := range dtype.All() {
		of, zero := sliceOf[d], reflect.Zero(d.Type()).Interface()
		slices[d], words[d] = (*iface)(unsafe.Pointer(&of)).typ, (*iface)(unsafe.Pointer(&zero)).typ
	}
	return slices, words
}()

// walkWord and lineWord are the types of a Walk and of a Line, as interfaces hold them.
var walkWord, lineWord = wordOf(kernels.Walk{}), wordOf(kernels.Line{})

func wordOf(of any) unsafe.Pointer { return (*iface)(unsafe.Pointer(&of)).typ }

// slice returns a header as the [runtime.Slice] of an element type: an argument of a
// launch, without a copy on the heap.
func slice(d dtype.DType, h *runtime.SliceHeader) any {
	return *(*any)(unsafe.Pointer(&iface{sliceTypes[d], unsafe.Pointer(h)}))
}

// unsupported is the error of an operation without a row for a type.
func unsupported(op string, d dtype.DType, want string) error {
	return fmt.Errorf("%w: %s of %s: it is for %s", ErrDType, op, d, want)
}
