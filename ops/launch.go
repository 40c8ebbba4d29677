package ops

import (
	"reflect"
	"strconv"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/runtime"
)

// WalkLaunch is the launch of an elementwise kernel: its operands, how it walks over them, and
// numbers that all elements share. It stays on the stack.
type WalkLaunch struct {
	Walk        kernels.Walk
	Grid        runtime.Grid
	Views       [kernels.Operands]View
	Headers     [kernels.Operands]runtime.SliceHeader
	Words       [2]uint64 // the bits of the numbers
	kinds       [2]dtype.DType
	Operands, m int // how many operands and numbers there are

	Dense bool // the kernel takes a Line and no Walk
	line  kernels.Line
}

// Operand adds an operand; the result comes first.
func (l *WalkLaunch) Operand(v View) {
	l.Views[l.Operands], l.Headers[l.Operands] = v, v.Header()
	l.Operands++
}

// Number adds a number.
func (l *WalkLaunch) Number(s dtype.Scalar) {
	l.Words[l.m], l.kinds[l.m] = s.Bits(), s.DType()
	l.m++
}

// Plan chooses how the kernel walks over the operands; it reports false if there is
// nothing to do.
func (l *WalkLaunch) Plan(s *runtime.Stream) (bool, error) {
	info := DeviceInfo(s.Device())
	ok, err := planFor(&l.Walk, &l.Grid, &info, l.Views[:l.Operands])
	if ok {
		together(&l.Walk, &l.Grid, &info, l.Views[:l.Operands])
	}
	return ok, err
}

// Run launches a kernel with the operands, the walk, the numbers, and a function if
// there is one.
func (l *WalkLaunch) Run(s *runtime.Stream, k *jit.Kernel, fn *jit.Fn) error {
	var args [kernels.Operands + 4]any
	n := 0
	for i := range l.Operands {
		args[n] = SliceArg(l.Views[i].DType, &l.Headers[i])
		n++
	}
	args[n] = *(*any)(unsafe.Pointer(&iface{walkWord, unsafe.Pointer(&l.Walk)})) // without a copy
	if w := &l.Walk; l.Dense {
		l.line = kernels.Line{Many: w.Many, Vec: w.Vec, Part: w.Part, N: w.N}
		args[n] = *(*any)(unsafe.Pointer(&iface{lineWord, unsafe.Pointer(&l.line)}))
	}
	n++
	for i := range l.m {
		args[n] = ScalarArg(l.kinds[i], &l.Words[i])
		n++
	}
	if fn != nil {
		args[n] = fn
		n++
	}
	return k.Launch(s, l.Grid, args[:n]...)
}

// ScalarArg returns the low bytes of a word as a number of an element type: an argument of
// a launch, without a copy on the heap.
func ScalarArg(d dtype.DType, w *uint64) any {
	return *(*any)(unsafe.Pointer(&iface{wordTypes[d], unsafe.Pointer(w)}))
}

// RunWalk launches a kernel that walks over its operands, Views, and takes the numbers,
// Scalars.
func RunWalk(s *runtime.Stream, k *jit.Kernel, args ...any) error {
	var l WalkLaunch
	for _, a := range args {
		switch a := a.(type) {
		case View:
			l.Operand(a)
		case dtype.Scalar:
			l.Number(a)
		}
	}
	if ok, err := l.Plan(s); !ok {
		return err
	}
	return l.Run(s, k, nil)
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

// SliceArg returns a header as the [runtime.Slice] of an element type: an argument of a
// launch, without a copy on the heap.
func SliceArg(d dtype.DType, h *runtime.SliceHeader) any {
	return *(*any)(unsafe.Pointer(&iface{sliceTypes[d], unsafe.Pointer(h)}))
}

// slicesKey is how many slices of which elements a struct has.
type slicesKey struct {
	d dtype.DType
	n int
}

// slicesTypes are the types of [SlicesArg], as interfaces hold them: slicesKey to unsafe.Pointer.
var slicesTypes sync.Map

// SlicesArg returns headers as a struct of that many slices of an element type: an argument of a
// launch, without a copy on the heap, for a kernel's parameter that is a struct with the fields S0,
// S1, S2, … of type []E.
func SlicesArg(d dtype.DType, h []runtime.SliceHeader) any {
	key := slicesKey{d, len(h)}
	typ, ok := slicesTypes.Load(key)
	if !ok {
		fields := make([]reflect.StructField, len(h))
		for i := range fields {
			fields[i] = reflect.StructField{Name: "S" + strconv.Itoa(i), Type: reflect.TypeOf(sliceOf[d])}
		}
		zero := reflect.Zero(reflect.StructOf(fields)).Interface()
		typ, _ = slicesTypes.LoadOrStore(key, (*iface)(unsafe.Pointer(&zero)).typ)
	}
	return *(*any)(unsafe.Pointer(&iface{typ.(unsafe.Pointer), unsafe.Pointer(&h[0])}))
}
