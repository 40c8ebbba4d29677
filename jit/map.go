package jit

import (
	"fmt"
	"reflect"
	"strconv"
	"sync/atomic"
	"unsafe"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit/internal/mapping"
	"github.com/gokiln/kiln/runtime"
)

// maxMapped is how many slices a function can be mapped over.
const maxMapped = 4

// mapThreads is the size of the blocks of Map.
const mapThreads = 256

// mapper applies a function to the elements of slices.
type mapper struct {
	kernel *Kernel
	elems  [1 + maxMapped]reflect.Type   // of the result and of the arguments
	words  [1 + maxMapped]atomic.Uintptr // types of slices seen and found right
}

// Map stores f(in[0][i], in[1][i], …) in out[i] for every i. The arguments are
// slices on the device of the stream, each a [runtime.Slice] of the type that the
// function's parameter at that index has, one to four of them, all of one length. The result
// may be one of them.
func (f *Fn) Map(s *runtime.Stream, out any, in ...any) error {
	m := f.mapper.Load()
	if m == nil {
		var err error
		if m, err = f.newMapper(); err != nil {
			return err
		}
		f.mapper.Store(m)
	}
	if want := f.typ.NumIn(); len(in) != want {
		return fmt.Errorf("%s: Map with %d slices for a function of %d arguments", f.Name(), len(in), want)
	}
	args := [2 + maxMapped]any{out}
	for i := range in { // copy would move the arguments to the heap
		args[1+i] = in[i]
	}
	n, err := m.length(args[:1+len(in)])
	if err != nil {
		return fmt.Errorf("%s: Map: %w", f.Name(), err)
	}
	if n == 0 {
		return nil
	}
	args[1+len(in)] = f
	return m.kernel.Launch(s, runtime.Cover(n, mapThreads), args[:2+len(in)]...)
}

// Prepare compiles or loads what [Fn.Map] runs on a device, as its first call there
// would.
func (f *Fn) Prepare(dev *runtime.Device) error {
	m, err := f.newMapper()
	if err != nil {
		return err
	}
	return m.kernel.Prepare(dev, f)
}

// newMapper finds the kernel for the types of a function.
func (f *Fn) newMapper() (*mapper, error) {
	if _, err := f.source(); err != nil {
		return nil, err
	}
	t := f.typ
	if n := t.NumIn(); n < 1 || n > maxMapped || t.NumOut() != 1 || t.IsVariadic() {
		return nil, fmt.Errorf("%s is %s: Map takes functions of one to %d arguments with one result", f.Name(), t, maxMapped)
	}
	m := &mapper{}
	params := []reflect.Type{reflect.TypeFor[dsl.Thread]()}
	for i := range 1 + t.NumIn() {
		if m.elems[i] = t.Out(0); i > 0 {
			m.elems[i] = t.In(i - 1)
		}
		params = append(params, reflect.SliceOf(m.elems[i]))
	}
	m.kernel = Named(mapping.Path, "Map"+strconv.Itoa(t.NumIn()), reflect.FuncOf(append(params, t), nil, false))
	return m, m.kernel.Err()
}

// length returns the length of the slices in args.
func (m *mapper) length(args []any) (int, error) {
	n := 0
	for i := range args {
		a := (*iface)(unsafe.Pointer(&args[i]))
		if a.typ == 0 || a.typ != m.words[i].Load() {
			t := reflect.TypeOf(args[i])
			if elem, ok := runtime.SliceElem(t); !ok || elem != m.elems[i] {
				return 0, fmt.Errorf("%s is %v, want runtime.Slice[%s]", argName(i), t, m.elems[i])
			}
			m.words[i].Store(a.typ)
		}
		switch have := (*runtime.SliceHeader)(a.data).Len; {
		case i == 0:
			n = have
		case have != n:
			return 0, fmt.Errorf("%s has %d elements, the result has %d", argName(i), have, n)
		}
	}
	return n, nil
}

func argName(i int) string {
	if i == 0 {
		return "the result"
	}
	return "slice " + strconv.Itoa(i)
}
