package ops

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Placeholders for type parameters in the prototypes of kernels and functions: see [kernels.T].
type (
	T = kernels.T
	O = kernels.O
	C = kernels.C
	I = kernels.I
	M = kernels.M
	K = kernels.K
)

// TypeArgs are the type arguments of an instance. O is T if it is left out, and C what T is
// computed in.
type TypeArgs struct {
	T, O, C, I, M dtype.DType
	K             reflect.Type // keys have types that elements do not have
}

// defaults fills in what is left out.
func (a TypeArgs) defaults() TypeArgs {
	if a.O == 0 {
		a.O = a.T
	}
	if a.C == 0 && a.T != 0 {
		a.C = a.T.Compute()
	}
	return a
}

// in returns a type of a prototype with the type arguments in the place of placeholders.
func (a *TypeArgs) in(t reflect.Type) reflect.Type {
	switch t {
	case reflect.TypeFor[T]():
		return a.T.Type()
	case reflect.TypeFor[O]():
		return a.O.Type()
	case reflect.TypeFor[C]():
		return a.C.Type()
	case reflect.TypeFor[I]():
		return a.I.Type()
	case reflect.TypeFor[M]():
		return a.M.Type()
	case reflect.TypeFor[K]():
		return a.K
	}
	switch {
	case t.Name() != "":
		return a.inStruct(t)
	case t.Kind() == reflect.Pointer:
		return reflect.PointerTo(a.in(t.Elem()))
	case t.Kind() == reflect.Slice:
		return reflect.SliceOf(a.in(t.Elem()))
	case t.Kind() == reflect.Array:
		return reflect.ArrayOf(t.Len(), a.in(t.Elem()))
	case t.Kind() == reflect.Func:
		return a.inFunc(t)
	}
	return t
}

func (a *TypeArgs) inFunc(t reflect.Type) reflect.Type {
	in, out := make([]reflect.Type, t.NumIn()), make([]reflect.Type, t.NumOut())
	for i := range in {
		in[i] = a.in(t.In(i))
	}
	for i := range out {
		out[i] = a.in(t.Out(i))
	}
	return reflect.FuncOf(in, out, false)
}

var structs sync.Map // name of an instance of a generic struct -> reflect.Type

// RegisterStructs makes instances of generic structs known, which reflection cannot make: those
// that kernels have as parameters. They have one type parameter.
func RegisterStructs(instances ...any) {
	for _, v := range instances {
		t := reflect.TypeOf(v)
		structs.Store(t.PkgPath()+"."+t.Name(), t)
	}
}

// inStruct returns the registered instance of a generic struct of a placeholder, and other types as
// they are.
func (a *TypeArgs) inStruct(t reflect.Type) reflect.Type {
	base, arg, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return t
	}
	for _, of := range []struct{ from, to reflect.Type }{
		{reflect.TypeFor[T](), a.T.Type()}, {reflect.TypeFor[O](), a.O.Type()}, {reflect.TypeFor[C](), a.C.Type()},
	} {
		if of.to == nil || arg != fullName(of.from)+"]" {
			continue
		}
		if made, ok := structs.Load(t.PkgPath() + "." + base + "[" + fullName(of.to) + "]"); ok {
			return made.(reflect.Type)
		}
	}
	return t
}

// fullName is a type as it stands among type arguments.
func fullName(t reflect.Type) string {
	if t.PkgPath() == "" {
		return t.Name()
	}
	return t.PkgPath() + "." + t.Name()
}

// Generic is a generic kernel, of which instances are made for element types.
type Generic struct {
	name   string // of the operation, for errors
	kernel *jit.Kernel
	typ    reflect.Type
	made   instances[*jit.Kernel]
}

// NewGeneric returns the kernel of a prototype, for the operation of a name:
//
//	norm := ops.NewGeneric("norm", kernels.Norm[ops.T, ops.C])
//	err := norm.Launch(s, ops.TypeArgs{T: x.DType}, grid, …)
func NewGeneric(name string, prototype any) *Generic {
	return &Generic{name: name, kernel: jit.Of(prototype), typ: reflect.TypeOf(prototype)}
}

// Of returns the instance for type arguments, of which those for operands and results have to be
// types that compute.
func (g *Generic) Of(a TypeArgs) (*jit.Kernel, error) {
	if k, ok := g.made.find(a); ok {
		return k, nil
	}
	whole := a.defaults()
	for _, d := range []dtype.DType{whole.T, whole.O, whole.C} {
		if d != 0 && !d.Computes() {
			return nil, Unsupported(g.name, d, Numbers.String())
		}
	}
	k := g.kernel.As(whole.inFunc(g.typ))
	g.made.add(a, k)
	return k, nil
}

// LastParam returns the type of the last parameter of an instance: that of the function which the
// kernel is compiled with, if it has one.
func (g *Generic) LastParam(a TypeArgs) reflect.Type {
	a = a.defaults()
	return a.in(g.typ.In(g.typ.NumIn() - 1))
}

// Launch launches the instance for type arguments.
func (g *Generic) Launch(s *runtime.Stream, a TypeArgs, grid runtime.Grid, args ...any) error {
	k, err := g.Of(a)
	if err != nil {
		return err
	}
	return k.Launch(s, grid, args...)
}

// GenericFunc is a generic function that kernels are compiled with.
type GenericFunc struct {
	fn   *jit.Fn
	typ  reflect.Type
	made instances[*jit.Fn]
}

// NewGenericFunc returns the function of a prototype, such as kernels.Add[ops.C].
func NewGenericFunc(prototype any) *GenericFunc {
	return &GenericFunc{fn: jit.Func(prototype), typ: reflect.TypeOf(prototype)}
}

// Of returns the instance for type arguments.
func (f *GenericFunc) Of(a TypeArgs) *jit.Fn {
	if fn, ok := f.made.find(a); ok {
		return fn
	}
	whole := a.defaults()
	fn := f.fn.As(whole.inFunc(f.typ))
	f.made.add(a, fn)
	return fn
}

// In returns the instance that computes in a type.
func (f *GenericFunc) In(c dtype.DType) *jit.Fn { return f.Of(TypeArgs{C: c}) }

// instances are what was made for type arguments. They are few, and looking for one takes neither
// a lock nor memory.
type instances[V any] struct {
	list atomic.Pointer[[]instanceOf[V]]
	mu   sync.Mutex
}

type instanceOf[V any] struct {
	of TypeArgs
	v  V
}

func (m *instances[V]) find(a TypeArgs) (v V, ok bool) {
	list := m.list.Load()
	if list == nil {
		return v, false
	}
	for i := range *list {
		if e := &(*list)[i]; e.of == a {
			return e.v, true
		}
	}
	return v, false
}

func (m *instances[V]) add(a TypeArgs, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.find(a); ok {
		return
	}
	var list []instanceOf[V]
	if old := m.list.Load(); old != nil {
		list = append(list, *old...)
	}
	list = append(list, instanceOf[V]{a, v})
	m.list.Store(&list)
}

// String names the type arguments.
func (a TypeArgs) String() string {
	return fmt.Sprintf("T=%v O=%v C=%v I=%v M=%v K=%v", a.T, a.O, a.C, a.I, a.M, a.K)
}
