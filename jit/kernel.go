package jit

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
)

// Kernel is a handle of one kernel instance. It is safe for use by several
// goroutines.
type Kernel struct {
	req    input.Request
	name   string
	fn     reflect.Type
	consts []constArg // parameters with compile-time values
	err    error
	ready  atomic.Pointer[table] // what launches use

	checked bool
	twin    atomic.Pointer[Kernel] // the checked handle of one that is not

	mu      sync.Mutex
	flights map[flightKey]*flight
}

// instance is a kernel on a device, for one set of compile-time values. What
// launches read comes first.
type instance struct {
	dev     *runtime.Device
	fn      *runtime.Function // for launches with all properties that a launch can have
	plan    []param
	size    int         // of the argument block
	assumed code.Assume // by fn
	watched watched
	consts  []uint64

	tgt      target.Target
	want     *wanted
	meta     code.Meta
	variants [code.Variants]atomic.Pointer[runtime.Function]
}

var handles sync.Map // handleKey -> *Kernel

type handleKey struct {
	pc  uintptr
	typ reflect.Type
}

// Of returns the handle of a kernel: a package-level function marked //kiln:kernel, instantiated if
// it is generic. Inside a generic function it cannot be instantiated with that function's type
// parameters: pass the handle in. The same function gives the same handle. What is wrong with fn is
// reported by [Kernel.Err] and by every launch.
func Of(fn any) *Kernel {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Func || v.IsNil() {
		return &Kernel{err: fmt.Errorf("jit.Of: %T is not a kernel function", fn)}
	}
	key := handleKey{v.Pointer(), v.Type()}
	if k, ok := handles.Load(key); ok {
		return k.(*Kernel)
	}
	k := &Kernel{fn: v.Type()}
	k.req, k.err = identify(fn)
	k.name = k.req.Pkg + "." + k.req.Func
	if k.err == nil {
		if k.consts, k.err = findConstants(k.fn); k.err != nil {
			k.err = fmt.Errorf("%s: %w", k.name, k.err)
		}
	}
	if k.err == nil {
		one, _ := named.LoadOrStore(namedKey{k.req.Pkg, k.req.Func, k.fn, k.req.Sig != ""}, k)
		k = one.(*Kernel)
	}
	got, _ := handles.LoadOrStore(key, k)
	return got.(*Kernel)
}

// named are the handles by name, however they were asked for.
var named sync.Map // namedKey -> *Kernel

type namedKey struct {
	pkg, name string
	typ       reflect.Type
	generic   bool // the request has a signature
}

// Named returns the handle of a kernel by the import path of its package and its
// name, for libraries that choose types at run time. The type is that of the
// instance, such as reflect.FuncOf makes it: its first parameter is dsl.Thread.
func Named(pkg, name string, typ reflect.Type) *Kernel {
	k := kernelOf(pkg, name, typ, true)
	if k.err != nil { // nobody else has it
		k.err = fmt.Errorf("jit.Named: %w", k.err)
	}
	return k
}

// kernelOf returns the handle of a kernel by name; one that cannot be used is new each time.
// Without its signature the request for a generic kernel says too little, and with it that
// for another one is not that of Of.
func kernelOf(pkg, name string, typ reflect.Type, generic bool) *Kernel {
	key := namedKey{pkg, name, typ, generic}
	if k, ok := named.Load(key); ok {
		return k.(*Kernel)
	}
	k := &Kernel{fn: typ, name: pkg + "." + name, req: input.Request{Pkg: pkg, Func: name}}
	if typ == nil || typ.Kind() != reflect.Func || typ.NumIn() == 0 || typ.In(0) != reflect.TypeFor[dsl.Thread]() {
		k.err = fmt.Errorf("%s: %v is not the type of a kernel", k.name, typ)
		return k
	}
	if generic {
		k.req.Sig, k.err = signature(typ, pkg)
	}
	if k.err == nil {
		k.consts, k.err = findConstants(typ)
	}
	if k.err != nil {
		k.err = fmt.Errorf("%s: %w", k.name, k.err)
		return k
	}
	got, _ := named.LoadOrStore(key, k)
	return got.(*Kernel)
}

// As returns the handle of another instance of the same generic kernel, by its type:
// see [Fn.As] and [Named].
func (k *Kernel) As(typ reflect.Type) *Kernel {
	if k.err != nil {
		return k
	}
	return Named(k.req.Pkg, k.req.Func, typ)
}

// sameBasic reports whether a parameter of a compiled kernel may be what Go calls
// t. Only a handle made by Named can be of the wrong type.
func sameBasic(spelled string, t reflect.Type) bool {
	elem := t
	if t.Kind() == reflect.Slice {
		if t.Name() != "" {
			return true // spelled by that name
		}
		spelled, elem = strings.TrimPrefix(spelled, "[]"), t.Elem()
	}
	want := predeclared(elem)
	switch spelled {
	case "byte":
		spelled = "uint8"
	case "rune":
		spelled = "int32"
	}
	return want == "" || want == spelled
}

// Name returns the kernel's package path and function.
func (k *Kernel) Name() string { return k.name }

// Err reports why the handle cannot be used, nil if it can.
func (k *Kernel) Err() error { return k.err }

// Prepare compiles or loads the kernel for a device, as its first launch there
// would. For a kernel with compile-time parameters consts are the arguments that
// hold them, in order: values of type dsl.ConstInt and dsl.ConstBool, and
// structs with such fields.
func (k *Kernel) Prepare(dev *runtime.Device, consts ...any) error {
	_, err := k.prepare(dev, consts)
	return err
}

// Unload gives up the code that the kernel has on a device, with all its variants and
// specialisations. It is unloaded when no launch and no graph uses it any more; a later launch
// loads it again.
func (k *Kernel) Unload(dev *runtime.Device) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ready.Store(k.ready.Load().without(dev))
}

func (k *Kernel) prepare(dev *runtime.Device, consts []any) (*instance, error) {
	if k.err != nil {
		return nil, k.err
	}
	if len(consts) != len(k.consts) {
		return nil, fmt.Errorf("%s: %d compile-time arguments, the kernel has %d: %s", k.name, len(consts), len(k.consts), k.fn)
	}
	args := make([]any, k.fn.NumIn()-1)
	for i, c := range k.consts {
		args[c.index] = consts[i]
	}
	return k.specialised(dev, args)
}

// on returns the kernel on dev for compile-time values, resolving it at the
// first call.
func (k *Kernel) on(dev *runtime.Device, values []uint64) (*instance, error) {
	if in := k.ready.Load().find(dev, values); in != nil {
		return in, nil
	}
	return k.onSlow(dev, values)
}

// onSlow resolves a specialisation once, however many goroutines ask for it;
// different ones are resolved at the same time.
func (k *Kernel) onSlow(dev *runtime.Device, values []uint64) (*instance, error) {
	if k.err != nil {
		return nil, k.err
	}
	want, err := k.request(values)
	if err != nil {
		return nil, err
	}
	key := flightKey{dev, want.spec}
	k.mu.Lock()
	have := k.ready.Load()
	if in := have.find(dev, values); in != nil {
		k.mu.Unlock()
		return in, nil
	}
	if f := k.flights[key]; f != nil {
		k.mu.Unlock()
		<-f.done
		return f.in, f.err
	}
	if len(values) > 0 && have.count(dev) >= maxSpecialisations {
		k.mu.Unlock()
		return nil, fmt.Errorf("%s: %w: %d on %s, and a launch asks for one more: compile-time parameters are for values from a small set; make those that are not ordinary parameters", k.name, ErrSpecialisations, maxSpecialisations, dev.Name())
	}
	f := &flight{done: make(chan struct{})}
	if k.flights == nil {
		k.flights = map[flightKey]*flight{}
	}
	k.flights[key] = f
	k.mu.Unlock()

	defer observers.deliver() // the kernel is there by then
	defer k.land(key, f)
	tgt, err := targetOf(dev)
	if err != nil {
		f.err = err
		return nil, err
	}
	f.in, f.err = k.resolve(dev, tgt, want, code.Assumes(tgt))
	return f.in, f.err
}

// flight is a specialisation that is being resolved.
type flight struct {
	done chan struct{}
	in   *instance
	err  error
}

type flightKey struct {
	dev    *runtime.Device
	consts string
}

// land publishes what a flight found.
func (k *Kernel) land(key flightKey, f *flight) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.flights, key)
	switch {
	case f.in != nil:
		k.ready.Store(k.ready.Load().with(f.in))
	case f.err == nil:
		f.err = fmt.Errorf("%s: resolving the kernel panicked", k.name)
	}
	close(f.done)
}

// resolve compiles or loads code that assumes what is given.
func (k *Kernel) resolve(dev *runtime.Device, tgt target.Target, want *wanted, assume code.Assume) (*instance, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	name := k.name + want.spec
	load, loader := loaderFor(want.funcs)
	r := &resolver{settings: env, req: want.req, spec: want.spec, name: name, dev: dev, tgt: tgt, load: load, loader: loader, known: &known, checked: k.checked, way: wayTo(dev.Info().Formats)}
	im, err := r.best(assume)
	if err != nil {
		r.dumpPage(name) // as far as it came
		return nil, err
	}
	r.dumpPage(im.meta.Kernel)
	plan, err := planArgs(im.meta.Args, k.fn)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	loading := time.Now()
	fn, err := loaded(dev, im)
	if err != nil && r.shippedMachine {
		// Tools that are newer than the driver have made it: there may be text as well.
		r.log.Warn("machine code of a bundle not usable", "kernel", name, "err", err)
		r.noMachine, r.shippedMachine = true, false
		if im, err = r.best(assume); err == nil {
			fn, err = loaded(dev, im)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: loading code: %w", name, err)
	}
	if im.meta.Grid != nil {
		fn.SetGrid(im.meta.Grid.Offset, im.meta.Grid.Params)
	}
	if im.meta.Log != nil {
		fn.SetLog(r.placed(im.meta.Log))
	}
	r.ev.Load, r.ev.Total = time.Since(loading), time.Since(start)
	r.ev.Kernel = im.meta.Kernel
	report(r)
	if im.meta.Format == code.FormatIR && r.way == nil {
		assume = 0 // the interpreter takes every launch; a way may lead to more than that
	}
	return &instance{dev: dev, tgt: tgt, want: want, consts: want.values, fn: fn, meta: im.meta, plan: plan, size: im.meta.ArgBytes(), assumed: assume, watched: watch(plan)}, nil
}

// loaded loads code and finds its kernel, for which some drivers compile what they loaded.
func loaded(dev *runtime.Device, im *image) (*runtime.Function, error) {
	mod, err := dev.Load(im.img)
	if err != nil {
		return nil, err
	}
	return mod.Function(im.meta.Entry)
}

// report logs how the kernel was resolved and leaves the event to the observers.
func report(r *resolver) {
	r.ev.Target, r.ev.Checked = r.tgt.String(), r.opts().Checked
	if r.log.Enabled(context.Background(), slog.LevelInfo) {
		r.tell()
	}
	r.remember()
	observers.post(r.ev)
}

// tell logs how the kernel was resolved.
func (r *resolver) tell() {
	ms := slog.Float64("ms", millis(r.ev.Total))
	common := []any{"kernel", r.ev.Kernel, "target", r.ev.Target}
	if r.ev.Checked {
		common = append(common, "checked", true)
	}
	if r.ev.Source == "compiled" {
		r.log.Info("compiled", append(common, ms)...)
	} else {
		r.log.Info("loaded", append(common, "source", r.ev.Source, ms)...)
	}
	r.debug("resolved", append(common, "front_ms", millis(r.ev.Front), "emit_ms", millis(r.ev.Emit), "link_ms", millis(r.ev.Link), "load_ms", millis(r.ev.Load))...)
}

// targetOf returns what to compile for on a device.
func targetOf(dev *runtime.Device) (target.Target, error) {
	info := dev.Info()
	t, err := code.TargetFor(info.Formats, info.Arch)
	if way := wayTo(info.Formats); way != nil {
		t, err = way.Target(info.Arch)
	}
	if err != nil {
		return t, fmt.Errorf("%s: %w", dev.Name(), err)
	}
	return t, nil
}

// ResidentBlocks resolves the kernel for a device, as [Kernel.Prepare] does, and returns how many
// blocks of so many threads the device holds at the same time: the most that a launch of a kernel
// with t.SyncGrid can have. shared is the length in bytes of a dsl.DynamicShared array, 0 without
// one.
func (k *Kernel) ResidentBlocks(dev *runtime.Device, threads runtime.Dim3, shared int, consts ...any) (int, error) {
	in, err := k.prepare(dev, consts)
	if err != nil {
		return 0, err
	}
	return in.fn.ResidentBlocks(threads, shared)
}

// Info resolves the kernel for a device, as [Kernel.Prepare] does, and returns
// what the driver knows of its code.
func (k *Kernel) Info(dev *runtime.Device, consts ...any) (runtime.FunctionInfo, error) {
	in, err := k.prepare(dev, consts)
	if err != nil {
		return runtime.FunctionInfo{}, err
	}
	return in.fn.Info(), nil
}
