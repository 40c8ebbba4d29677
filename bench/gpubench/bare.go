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

// bareLaunch calls cuLaunchKernel with nothing around it: the least that a
// launch from Go can cost. What C reads and writes lives in this object. Being
// reachable from [bare] it is on the heap, where it does not move; a variable of
// the goroutine's stack may.
type bareLaunch struct {
	call    uintptr // cuLaunchKernel
	args    [11]uintptr
	params  [5]uintptr // addresses of the values below
	y, x    uint64
	ny, nx  int64
	a       float32
	device  int32
	context uintptr
	module  uintptr
	fn      uintptr
	ptx     []byte // text and name of the kernel, ending in zero as C has it
	entry   []byte
}

var bare = new(bareLaunch)

// newBareLaunch loads the saxpy kernel, compiled for the device, through the
// driver alone, in the context that the device has made current.
func newBareLaunch(dev *runtime.Device) (*bareLaunch, error) {
	art, err := compileFor(dev, front.Request{Pkg: "github.com/gokiln/kiln/bench/kernels", Func: "Saxpy"})
	if err != nil {
		return nil, err
	}
	lib, err := dl.Open("libcuda.so.1", "libcuda.so", "nvcuda.dll")
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
	if err := driverCall(lib, "cuModuleLoadData", addr(&b.module), addr(&b.ptx[0])); err != nil {
		return nil, err
	}
	if err := driverCall(lib, "cuModuleGetFunction", addr(&b.fn), b.module, addr(&b.entry[0])); err != nil {
		return nil, err
	}
	b.call, err = lib.Sym("cuLaunchKernel")
	return b, err
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

// arguments fixes what launches pass: y, len, x, len, a; one block of 256
// threads on the default stream.
func (b *bareLaunch) arguments(y, x uint64, n int64, a float32) {
	b.y, b.ny, b.x, b.nx, b.a = y, n, x, n, a
	b.params = [5]uintptr{addr(&b.y), addr(&b.ny), addr(&b.x), addr(&b.nx), addr(&b.a)}
	b.args = [11]uintptr{b.fn, 1, 1, 1, 256, 1, 1, 0, 0, addr(&b.params[0]), 0}
}

func (b *bareLaunch) launch() error {
	if code := int32(dl.Call(b.call, b.args[:])); code != 0 {
		return fmt.Errorf("cuLaunchKernel: CUDA error %d", code)
	}
	return nil
}
