package jit

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"reflect"
	"regexp"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit/artifact"
)

// Fn is a handle of a function that kernels are compiled with. It is safe for use
// by several goroutines.
type Fn struct {
	typ reflect.Type // without a name
	pc  uintptr      // of the code

	found  atomic.Pointer[source]
	mapper atomic.Pointer[mapper]
}

// source is where the compiler finds a function.
type source struct {
	input.Func
	tests bool // in a test file
}

var functions sync.Map // handleKey -> *Fn

// Func returns a handle of a function, for kernels to be compiled with: a function
// literal, or a function of a package, instantiated if it is generic.
//
//	add := jit.Func(func(a, b float32) float32 { return a*b + 1 })
//	err := add.Map(stream, out, x, y) // out[i] = x[i]*y[i] + 1
//
// A literal may stand in any function of any file of the program, next to any
// other code and whatever the file imports. It may use what kernels may, the
// constants and types around it included, but not the variables around it:
// these would have to travel with each launch. The package has to register its
// source with dsl.Source. What is wrong is reported by [Fn.Err] and by every
// launch.
//
// Kernels take a function as a parameter of a function type. The argument of the
// launch is the handle, or the function itself:
//
//	//kiln:kernel
//	func Fold[T any](t dsl.Thread, out, in []T, f func(a, b T) T) { … }
//
//	err = jit.Of(kernels.Fold[float32]).Launch(stream, grid, out, in, add)
//
// The code is compiled for each function once, as for a compile-time value, and
// the call is inlined. The same function gives the same handle.
func Func(fn any) *Fn {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Func || v.IsNil() {
		return &Fn{typ: reflect.TypeOf(fn)}
	}
	return function(v.Pointer(), unnamed(v.Type()))
}

// function returns the handle of the function with code at pc.
func function(pc uintptr, typ reflect.Type) *Fn {
	key := handleKey{pc, typ}
	if f, ok := functions.Load(key); ok {
		return f.(*Fn)
	}
	f, _ := functions.LoadOrStore(key, &Fn{typ: typ, pc: pc})
	return f.(*Fn)
}

// unnamed returns the function type that a declared one is made of.
func unnamed(t reflect.Type) reflect.Type {
	if t.Name() == "" {
		return t
	}
	in, out := make([]reflect.Type, t.NumIn()), make([]reflect.Type, t.NumOut())
	for i := range in {
		in[i] = t.In(i)
	}
	for i := range out {
		out[i] = t.Out(i)
	}
	return reflect.FuncOf(in, out, t.IsVariadic())
}

// As returns the handle of another instance of the same generic function, by its
// type, for libraries that choose types at run time and have one instance at hand:
//
//	sqr := jit.Func(kernels.Sqr[float32])
//	half := sqr.As(reflect.TypeFor[func(dsl.F16) dsl.F16]())
func (f *Fn) As(typ reflect.Type) *Fn {
	if f.pc == 0 || typ == nil || typ.Kind() != reflect.Func {
		return &Fn{typ: typ}
	}
	return function(f.pc, unnamed(typ))
}

// Name returns the function's name as the Go runtime has it: that of a literal is
// the name of the function around it and a number.
func (f *Fn) Name() string {
	if f.pc == 0 {
		return "no function"
	}
	return frameOf(f.pc).Function
}

// Err reports why no kernel can be compiled with the function, nil if one can. A program
// built with kiln_nojit only looks whether the function is found.
func (f *Fn) Err() error {
	src, err := f.source()
	if err != nil {
		return err
	}
	load, _ := loaderFor([]*source{src})
	return checkFunc(src.Func, load)
}

// source finds the source of the function. Only success is kept: package-level
// variables may hold handles before the package has registered its source.
func (f *Fn) source() (*source, error) {
	if src := f.found.Load(); src != nil {
		return src, nil
	}
	if f.pc == 0 {
		return nil, fmt.Errorf("jit.Func: %v is not a function", f.typ)
	}
	src, err := locate(frameOf(f.pc), f.typ)
	if err != nil {
		return nil, fmt.Errorf("jit.Func: %w", err)
	}
	f.found.Store(src)
	return src, nil
}

// frameOf returns the frame of the function with code at pc, not of one that is
// inlined where the code begins.
func frameOf(pc uintptr) goruntime.Frame {
	frames := goruntime.CallersFrames([]uintptr{pc + 1})
	for {
		if f, more := frames.Next(); !more {
			return f
		}
	}
}

// startLine returns the line that a function begins on. The runtime knows it, for
// profiles, but has no public name for it; the line of the first instruction may
// be a later one.
func startLine(f goruntime.Frame) int {
	if v := reflect.ValueOf(f).FieldByName("startLine"); v.IsValid() && v.CanInt() && v.Int() > 0 {
		return int(v.Int())
	}
	return f.Line
}

// literalName matches what the Go compiler calls function literals, but for what
// stands before it: a number, in the function around it.
var literalName = regexp.MustCompile(`(\.func|\.|-range)[0-9]+$`)

// locate finds a function in the registered source.
func locate(frame goruntime.Frame, typ reflect.Type) (*source, error) {
	pkg, name := splitName(frame.Function)
	plain, generic := strings.CutSuffix(name, "[...]")
	src := &source{tests: strings.HasSuffix(frame.File, "_test.go")}
	switch {
	case strings.HasSuffix(name, "-fm"):
		return nil, fmt.Errorf("%s is a method value, which holds a receiver: pass a function or a function literal", frame.Function)
	case isIdent(plain):
		src.Func = input.Func{Pkg: pkg, Name: plain}
		if _, ok := dsl.SourceOf(pkg); !ok { // reading it takes its time
			load, _ := loaderFor([]*source{src})
			if _, err := load(pkg); err != nil {
				return nil, fmt.Errorf("%s: %w", frame.Function, err)
			}
		}
	case !literalName.MatchString(name):
		return nil, fmt.Errorf("%s is a method: pass a function, or a function literal that calls it", frame.Function)
	default:
		var err error
		if src.Func, err = findLiteral(frame, pkg, typ, src.tests); err != nil {
			return nil, fmt.Errorf("%s (%s:%d): %w", frame.Function, frame.File, startLine(frame), err)
		}
		generic = strings.Contains(name, "[...]") // for what is around it
	}
	if generic {
		var err error
		if src.Sig, err = signature(typ, src.Pkg); err != nil {
			return nil, fmt.Errorf("%s: %w", frame.Function, err)
		}
	}
	return src, nil
}

// findLiteral finds a function literal. Its package is that of its file: the name
// of the function begins with that of another package where the function around
// the literal was inlined.
func findLiteral(frame goruntime.Frame, pkg string, typ reflect.Type, tests bool) (f input.Func, err error) {
	file := strings.ReplaceAll(frame.File, `\`, "/")
	want := input.Literal{File: path.Base(file), Line: startLine(frame)}
	for i := range typ.NumIn() {
		want.Params = append(want.Params, predeclared(typ.In(i)))
	}
	for i := range typ.NumOut() {
		want.Results = append(want.Results, predeclared(typ.Out(i)))
	}
	paths := dsl.SourcesAt(frame.File)
	if len(paths) == 0 {
		if _, err = input.Registered(pkg); err == nil { // which is another package
			err = fmt.Errorf("the package in %s has no kernel source in this program: add `//go:embed *.go`, `var source embed.FS` and `var _ = dsl.Source(source)` to it", path.Dir(file))
		}
		return f, err
	}
	for _, path := range paths { // of a package and its external tests, one has the file
		p, wrong := loadSource(path, tests)
		if wrong == nil {
			if f, wrong = input.FindLiteral(p, want); wrong == nil {
				return f, nil
			}
		}
		if err == nil || p != nil && slices.ContainsFunc(p.Files, func(f input.File) bool { return f.Name == want.File }) {
			err = wrong
		}
	}
	return f, err
}

// predeclared returns the name of a type that Go declares, "" for others.
func predeclared(t reflect.Type) string {
	if t.PkgPath() != "" {
		return ""
	}
	return t.Name()
}

// splitName cuts the name of a function as the runtime has it into import path
// and the rest.
func splitName(full string) (pkg, name string) {
	slash := strings.LastIndexByte(full, '/') + 1
	pkg, name, _ = strings.Cut(full[slash:], ".")
	if p, err := url.PathUnescape(full[:slash] + pkg); err == nil {
		return p, name
	}
	return full[:slash] + pkg, name
}

func loadSource(path string, tests bool) (*input.Package, error) {
	if tests {
		return input.RegisteredTests(path)
	}
	return input.Registered(path)
}

// loaderFor returns the loader for kernels that are compiled with functions, and a name for
// it: the packages whose tests are part of them.
func loaderFor(list []*source) (load input.Loader, name string) {
	tested := map[string]bool{}
	for _, s := range list {
		if s.tests {
			tested[s.Pkg] = true
		}
	}
	if len(tested) == 0 {
		return input.Registered, ""
	}
	return func(path string) (*input.Package, error) { return loadSource(path, tested[path]) }, strings.Join(slices.Sorted(maps.Keys(tested)), ",")
}

// fnWord is the type of a handle, as an interface holds it.
var fnWord = func() uintptr {
	var f any = (*Fn)(nil)
	return (*iface)(unsafe.Pointer(&f)).typ
}()

// code returns the code of the function in argument arg of a launch, a handle or a
// function.
func (c *constArg) code(arg *any) (uint64, error) {
	a := (*iface)(unsafe.Pointer(arg))
	switch {
	case a.typ == fnWord:
		// Only numbers are taken out of the handle, for the arguments of a launch are
		// on the caller's stack.
		f := (*Fn)(a.data)
		if f == nil {
			return 0, fmt.Errorf("argument %d is a nil *jit.Fn", c.index+1)
		}
		pc, fits := f.pc, f.typ == c.fn
		switch {
		case pc == 0:
			return 0, fmt.Errorf("argument %d is a handle of no function: its method Err says why", c.index+1)
		case !fits:
			return 0, fmt.Errorf("argument %d is %s, a function of another type than %s", c.index+1, frameOf(pc).Function, c.typ)
		}
		return uint64(pc), nil
	case a.typ != c.word:
		if t := reflect.TypeOf(*arg); t == nil || t.Kind() != reflect.Func || unnamed(t) != c.fn {
			return 0, c.accept(*arg, 0)
		}
	}
	if a.data == nil {
		return 0, fmt.Errorf("argument %d is a nil function", c.index+1)
	}
	return uint64(*(*uintptr)(a.data)), nil // a function value points to its code
}

// wanted is a specialisation of a kernel: what to compile for which values of the
// compile-time parameters, and with which functions.
type wanted struct {
	values []uint64
	req    input.Request
	spec   string // artifact.Specialisation of req
	funcs  []*source
}

// request finds out what to compile for values.
func (k *Kernel) request(values []uint64) (*wanted, error) {
	w := &wanted{req: k.req}
	if len(k.consts) == 0 {
		return w, nil
	}
	w.values = slices.Clone(values)
	w.req.Consts = k.named(values)
	n := 0
	for _, c := range k.consts {
		for _, p := range c.parts {
			if c.fn != nil {
				src, err := function(uintptr(values[n]), c.fn).source()
				if err != nil {
					return nil, fmt.Errorf("%s: argument %d: %w", k.name, c.index+1, err)
				}
				if w.req.Funcs == nil {
					w.req.Funcs = map[string]input.Func{}
				}
				w.req.Funcs[p.name] = src.Func
				w.funcs = append(w.funcs, src)
			}
			n++
		}
	}
	w.spec = artifact.Specialisation(w.req)
	return w, nil
}
