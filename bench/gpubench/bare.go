package main

import (
	"fmt"
	goruntime "runtime"
	"unsafe"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime"
)

// saxpyArgs is the argument block of the saxpy kernel.
type saxpyArgs struct {
	y       uint64
	ny      int64
	x       uint64
	nx      int64
	a       float32
	padding uint32 // that the kernel declares: its block is a multiple of eight bytes
}

// bareLaunch calls cuLaunchKernel with nothing around it: the least that a
// launch from Go can cost. What C reads and writes lives in this object. Being
// reachable from [bare] it is on the heap, where it does not move; a variable of
// the goroutine's stack may.
type bareLaunch struct {
	call     uintptr        // cuLaunchKernel
	args     [2][11]uintptr // with pointers to the arguments, with a block of them
	pointers [6]uintptr
	extra    [5]uintptr
	block    saxpyArgs
	size     uintptr // of the block
	device   int32
	context  uintptr
	module   uintptr
	fn       uintptr
	ptx      []byte // text and name of the kernel, ending in zero as C has it
	entry    []byte
}

var bare = new(bareLaunch)

// newBareLaunch loads the saxpy kernel, compiled for the device, through the
// driver alone, in the context that the device has made current.
func newBareLaunch(dev *runtime.Device) (*bareLaunch, error) {
	art, err := compileFor(dev, front.Request{Pkg: "github.com/gokiln/kiln/bench/kernels", Func: "Saxpy"})
	if err != nil {
		return nil, err
	}
	lib, err := dl.Open(driverNames()...)
	if err != nil {
		return nil, err
	}
	b := bare
	b.ptx, b.entry = append(art.Code, 0), append([]byte(art.Meta.Entry), 0)
	// The device's context is current on no particular thread; this goroutine
	// keeps one, with the context set, for as long as it launches.
	goruntime.LockOSThread()
	if err := b.primaryContext(lib, dev.Info().Name); err != nil {
		return nil, err
	}
	if err := driverCall(lib, "cuModuleLoadDataEx", addr(&b.module), addr(&b.ptx[0]), 0, 0, 0); err != nil {
		return nil, err
	}
	if err := driverCall(lib, "cuModuleGetFunction", addr(&b.fn), b.module, addr(&b.entry[0])); err != nil {
		return nil, err
	}
	b.call, err = lib.Sym("cuLaunchKernel")
	return b, err
}

// driverNames are the names under which package runtime looks for the driver.
func driverNames() []string {
	for _, r := range runtime.Probe() {
		if r.Kind == "cuda" {
			return r.Looked
		}
	}
	return nil
}

// compileFor runs our compiler for the device's architecture.
func compileFor(dev *runtime.Device, req front.Request) (*compiler.Artifact, error) {
	tgt, err := target.Parse("ptx:" + dev.Info().Arch)
	if err != nil {
		return nil, err
	}
	p, err := compiler.Front(req, compiler.Registered)
	if err != nil {
		return nil, err
	}
	return p.Emit(tgt, compiler.OptionsFromEnv())
}

// primaryContext makes the device's primary context current on this thread.
func (b *bareLaunch) primaryContext(lib dl.Lib, name string) error {
	ordinal := 0
	if _, err := fmt.Sscanf(name, "cuda:%d", &ordinal); err != nil {
		return fmt.Errorf("the bare launch needs a cuda device, this is %s", name)
	}
	if err := driverCall(lib, "cuInit", 0); err != nil {
		return err
	}
	if err := driverCall(lib, "cuDeviceGet", addr(&b.device), uintptr(ordinal)); err != nil {
		return err
	}
	if err := driverCall(lib, "cuDevicePrimaryCtxRetain", addr(&b.context), uintptr(b.device)); err != nil {
		return err
	}
	return driverCall(lib, "cuCtxSetCurrent", b.context)
}

// driverCall calls one function of the driver.
func driverCall(lib dl.Lib, name string, args ...uintptr) error {
	fn, err := lib.Sym(name)
	if err != nil {
		return err
	}
	if code := int32(dl.Call(fn, args)); code != 0 {
		return fmt.Errorf("%s: CUDA error %d", name, code)
	}
	return nil
}

func addr[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// The driver's markers in the list that describes an argument block.
const (
	paramBufferPointer = 1
	paramBufferSize    = 2
)

// arguments fixes what launches pass; one block of 256 threads on the default
// stream. The driver takes arguments in two forms.
func (b *bareLaunch) arguments(block saxpyArgs) {
	b.block, b.size = block, unsafe.Sizeof(block)
	v := &b.block
	b.pointers = [6]uintptr{addr(&v.y), addr(&v.ny), addr(&v.x), addr(&v.nx), addr(&v.a), addr(&v.padding)}
	b.extra = [5]uintptr{paramBufferPointer, addr(v), paramBufferSize, addr(&b.size), 0}
	b.args[0] = [11]uintptr{b.fn, 1, 1, 1, 256, 1, 1, 0, 0, addr(&b.pointers[0]), 0}
	b.args[1] = [11]uintptr{b.fn, 1, 1, 1, 256, 1, 1, 0, 0, 0, addr(&b.extra[0])}
}

// launchPointers hands over an array of pointers to the arguments.
func (b *bareLaunch) launchPointers() error { return b.launch(0) }

// launchBlock hands over the arguments packed in one block.
func (b *bareLaunch) launchBlock() error { return b.launch(1) }

func (b *bareLaunch) launch(form int) error {
	if code := int32(dl.Call(b.call, b.args[form][:])); code != 0 {
		return fmt.Errorf("cuLaunchKernel: CUDA error %d", code)
	}
	return nil
}
