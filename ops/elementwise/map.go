package elementwise

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/runtime"
)

// ErrFunction is what a [Map] says of operands that its function does not take.
var ErrFunction = errors.New("the function does not take the operands")

// MapArgs is how many operands a function may have.
const MapArgs = 4

// families of a function, by the number of its operands less one.
var (
	maps = [MapArgs]*jit.Kernel{
		jit.Of(kernels.Map1[float32, float32, float32, float32]),
		jit.Of(kernels.Map2[float32, float32, float32, float32, float32, float32]),
		jit.Of(kernels.Map3[float32, float32, float32, float32, float32, float32, float32, float32]),
		jit.Of(kernels.Map4[float32, float32, float32, float32, float32, float32, float32, float32, float32, float32]),
	}
	holds = [MapArgs]*jit.Kernel{
		jit.Of(kernels.Holds1[float32, float32]),
		jit.Of(kernels.Holds2[float32, float32, float32, float32]),
		jit.Of(kernels.Holds3[float32, float32, float32, float32, float32, float32]),
		jit.Of(kernels.Holds4[float32, float32, float32, float32, float32, float32, float32, float32]),
	}
	slopes = [MapArgs]*jit.Kernel{
		jit.Of(kernels.Slope1[float32, float32, float32, float32, float32]),
		jit.Of(kernels.Slope2[float32, float32, float32, float32, float32, float32, float32]),
		jit.Of(kernels.Slope3[float32, float32, float32, float32, float32, float32, float32, float32, float32]),
		jit.Of(kernels.Slope4[float32, float32, float32, float32, float32, float32, float32, float32, float32, float32, float32]),
	}
)

// Map is an elementwise operation that a program makes of a function of one to four
// numbers: a row of the table that is made at run time. A float32 of the function stands
// for the floating-point types of fewer bits, too.
//
// The function gives one number, or one bool; or, for [Map.Slope], as many floating-point
// numbers as it takes: the derivatives of another function.
type Map struct {
	fn    *jit.Fn
	typ   reflect.Type // of the function, without a name
	takes []dtype.DType
	gives dtype.DType // U8 for a bool
	truth bool
	err   error

	results int

	made sync.Map // mapTypes -> *jit.Kernel
	last atomic.Pointer[madeMap]
}

// madeMap is the kernel for some types: that of the last launch, which is found without
// allocating.
type madeMap struct {
	types  mapTypes
	kernel *jit.Kernel
}

// mapTypes are the element types of the result and of the operands.
type mapTypes [core.Operands]dtype.DType

var everyMap sync.Map // *jit.Fn -> *Map

// MapOf returns the operation of a function: see [jit.Func] for what the function may
// be. What is wrong with its type is reported by every use.
func MapOf(f any) *Map {
	fn := jit.Func(f)
	if m, ok := everyMap.Load(fn); ok {
		return m.(*Map)
	}
	m := newMap(fn, reflect.TypeOf(f))
	got, _ := everyMap.LoadOrStore(fn, m)
	return got.(*Map)
}

func newMap(fn *jit.Fn, t reflect.Type) *Map {
	m := &Map{fn: fn}
	if t == nil || t.Kind() != reflect.Func || t.NumIn() < 1 || t.NumIn() > MapArgs || t.NumOut() < 1 || t.IsVariadic() {
		m.err = fmt.Errorf("%w: %v is not a function of one to %d numbers", ErrFunction, t, MapArgs)
		return m
	}
	in, out := make([]reflect.Type, t.NumIn()), make([]reflect.Type, t.NumOut())
	for i := range in {
		in[i] = t.In(i)
		m.takes = append(m.takes, dtypeOf(in[i]))
	}
	for i := range out {
		out[i] = t.Out(i)
	}
	m.typ, m.results = reflect.FuncOf(in, out, false), len(out)
	if m.truth = out[0] == reflect.TypeFor[bool](); m.truth {
		out[0] = dtype.U8.Type()
	}
	m.gives = dtypeOf(out[0])
	for _, d := range append(m.takes, m.gives) {
		if d == dtype.Invalid {
			m.err = fmt.Errorf("%w: %v is not a function of numbers of element types", ErrFunction, t)
		}
	}
	return m
}

// dtypeOf returns the element type that a Go type is.
func dtypeOf(t reflect.Type) dtype.DType {
	for _, d := range dtype.All() {
		if d.Type() == t {
			return d
		}
	}
	return dtype.Invalid
}

// Result returns the element type of the result for operands of such types: what the
// function gives. A float32 is rounded to the type of the operands of fewer bits, where
// all operands that the function takes as float32 have this type.
func (m *Map) Result(of ...dtype.DType) (dtype.DType, error) {
	if err := m.check(len(of)); err != nil {
		return dtype.Invalid, err
	}
	narrow := dtype.Invalid // what the operands that are taken as float32 are
	mixed := false
	for i, d := range of {
		if err := m.takesThere(i, d); err != nil {
			return dtype.Invalid, err
		}
		if m.takes[i] == dtype.F32 {
			mixed = mixed || narrow != dtype.Invalid && narrow != d
			narrow = d
		}
	}
	if m.gives == dtype.F32 && narrow != dtype.Invalid && !mixed {
		return narrow, nil
	}
	return m.gives, nil
}

// check reports why the function is none for n operands.
func (m *Map) check(n int) error {
	if m.err == nil && n != len(m.takes) {
		return fmt.Errorf("%w: %d operands for %v", ErrFunction, n, m.typ)
	}
	return m.err
}

// takesThere reports why the function does not take operand i of a type.
func (m *Map) takesThere(i int, d dtype.DType) error {
	if want := m.takes[i]; d != want && !(want == dtype.F32 && d.Compute() == dtype.F32) {
		return fmt.Errorf("%w: operand %d is of %s, and %v takes %s there: Cast converts a tensor", ErrFunction, i, d, m.typ, want)
	}
	return nil
}

// Run stores the function of the operands in out. All have the same shape.
func (m *Map) Run(s *runtime.Stream, out ops.View, x []ops.View) error {
	if err := m.check(len(x)); err != nil {
		return err
	}
	if m.results != 1 {
		return fmt.Errorf("%w: %v has %d results, want 1", ErrFunction, m.typ, m.results)
	}
	var l ops.WalkLaunch
	l.Operand(out)
	types := mapTypes{out.DType}
	for i := range x {
		if err := m.takesThere(i, x[i].DType); err != nil {
			return err
		}
		l.Operand(x[i])
		types[1+i] = x[i].DType
	}
	if ok, err := l.Plan(s); !ok {
		return err
	}
	family := maps[len(x)-1]
	if m.truth {
		family = holds[len(x)-1]
	}
	return l.Run(s, m.kernel(family, types, 1+len(x), false), m.fn)
}

// Slope stores, in out, g times the derivative for operand which that the function gives
// at the operands. All have the same shape.
func (m *Map) Slope(s *runtime.Stream, out, g ops.View, x []ops.View, which int) error {
	if err := m.check(len(x)); err != nil {
		return err
	}
	if m.results != len(x) || !m.gives.IsFloat() || m.gives.Bits() < 32 {
		return fmt.Errorf("%w: %v does not give %d derivatives", ErrFunction, m.typ, len(x))
	}
	var l ops.WalkLaunch
	types := mapTypes{}
	for i, v := range append([]ops.View{out, g}, x...) {
		if i >= 2 {
			if err := m.takesThere(i-2, v.DType); err != nil {
				return err
			}
		}
		l.Operand(v)
		types[i] = v.DType
	}
	if ok, err := l.Plan(s); !ok {
		return err
	}
	args := make([]any, 0, core.Operands+3)
	for i := range l.Operands {
		args = append(args, ops.SliceArg(l.Views[i].DType, &l.Headers[i]))
	}
	k := m.kernel(slopes[len(x)-1], types, l.Operands, true)
	return k.Launch(s, l.Grid, append(args, l.Walk, dsl.ConstInt(which), m.fn)...)
}

// kernel returns that of a family for n views of such types.
func (m *Map) kernel(family *jit.Kernel, types mapTypes, n int, slope bool) *jit.Kernel {
	if last := m.last.Load(); last != nil && last.types == types {
		return last.kernel
	}
	k, ok := m.made.Load(types)
	if !ok {
		k, _ = m.made.LoadOrStore(types, family.As(m.kernelType(types[:n], slope)))
	}
	m.last.Store(&madeMap{types, k.(*jit.Kernel)})
	return k.(*jit.Kernel)
}

// kernelType is the type of the kernel for views of such types.
func (m *Map) kernelType(types []dtype.DType, slope bool) reflect.Type {
	params := []reflect.Type{reflect.TypeFor[dsl.Thread]()}
	for _, d := range types {
		params = append(params, reflect.SliceOf(d.Type()))
	}
	params = append(params, reflect.TypeFor[core.Walk]())
	if slope {
		params = append(params, reflect.TypeFor[dsl.ConstInt]())
	}
	return reflect.FuncOf(append(params, m.typ), nil, false)
}
