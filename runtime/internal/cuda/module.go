package cuda

import (
	"bytes"
	"os"
	goruntime "runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

const logSize = 64 << 10

// jitOptions are the options of the compiler in the driver with the buffers
// for its logs. The addresses in values are those of the buffers; all of it is
// on the heap, because the option list itself is passed to the driver.
type jitOptions struct {
	keys   []uint32
	values []uintptr
	info   []byte
	errors []byte
}

// newOptions returns none for machine code, which nothing is compiled of and no log says
// anything about: clean buffers for each of hundreds of kernels take longer than to load them.
func newOptions(img driver.Image) *jitOptions {
	if img.Format == "cubin" {
		return new(jitOptions)
	}
	o := &jitOptions{info: make([]byte, logSize), errors: make([]byte, logSize)}
	o.add(jitInfoLog, uintptr(unsafe.Pointer(&o.info[0])))
	o.add(jitInfoLogSize, logSize)
	o.add(jitErrorLog, uintptr(unsafe.Pointer(&o.errors[0])))
	o.add(jitErrorLogSize, logSize)
	o.add(jitLogVerbose, 1)
	if n, ok := optLevel(); ok {
		o.add(jitOptLevel, uintptr(n))
	}
	if img.LineInfo {
		o.add(jitLineInfo, 1)
	}
	if img.MaxRegisters > 0 {
		o.add(jitMaxRegisters, uintptr(img.MaxRegisters))
	}
	return o
}

// optLevel is how much the driver's compiler optimises, 0 to 4, if KILN_CUDA_OPT
// says so: a result that depends on it is a fault of that compiler.
func optLevel() (int, bool) {
	n, err := strconv.Atoi(os.Getenv("KILN_CUDA_OPT"))
	return n, err == nil && n >= 0 && n <= 4
}

func (o *jitOptions) add(key uint32, value uintptr) {
	o.keys, o.values = append(o.keys, key), append(o.values, value)
}

func text(buf []byte) string {
	s, _, _ := bytes.Cut(buf, []byte{0})
	return string(s)
}

// refused is the error of an image that the driver does not take, with its log.
func (d *device) refused(op string, r result, o *jitOptions) error {
	e := d.lib.failure(op, d.info.Name, r)
	e.Log = text(o.errors)
	if e.Log == "" {
		e.Log = text(o.info)
	}
	return e
}

// code is an image's bytes as the driver wants them: text ends in a zero byte.
func (d *device) code(img driver.Image) ([]byte, error) {
	switch {
	case img.Format != "ptx" && img.Format != "cubin":
		return nil, &driver.Error{Op: "load kernel " + img.Name, Device: d.info.Name, Kind: driver.ErrBadImage,
			Text: "an NVIDIA GPU runs code of format cubin or ptx, not " + img.Format}
	case len(img.Code) == 0:
		return nil, &driver.Error{Op: "load kernel " + img.Name, Device: d.info.Name, Kind: driver.ErrBadImage,
			Text: "the image is empty"}
	case img.Format == "ptx":
		return append(bytes.Clone(img.Code), 0), nil
	}
	return img.Code, nil
}

// module is a CUmodule.
type module struct {
	dev    *device
	handle uintptr
}

// Load loads machine code, or compiles PTX and loads that.
func (d *device) Load(img driver.Image) (driver.Module, error) {
	code, err := d.code(img)
	if err != nil {
		return nil, err
	}
	o, h := newOptions(img), new(uintptr)
	r := d.try(d.lib.cuModuleLoadDataEx, uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(&code[0])),
		uintptr(len(o.keys)), uintptr(unsafe.Pointer(unsafe.SliceData(o.keys))), uintptr(unsafe.Pointer(unsafe.SliceData(o.values))))
	goruntime.KeepAlive(o)
	if r != success {
		return nil, d.refused("load kernel "+img.Name, r, o)
	}
	return &module{dev: d, handle: *h}, nil
}

// Finalize compiles PTX to machine code with the driver's linker.
func (d *device) Finalize(img driver.Image) (driver.Image, string, error) {
	code, err := d.code(img)
	if err != nil || img.Format == "cubin" {
		return img, "", err
	}
	// A link that moves from one thread to another between its calls, while
	// others run, crashes in the driver now and then.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	op := "compile kernel " + img.Name
	o, state := newOptions(img), new(uintptr)
	r := d.try(d.lib.cuLinkCreate, uintptr(len(o.keys)), uintptr(unsafe.Pointer(&o.keys[0])), uintptr(unsafe.Pointer(&o.values[0])), uintptr(unsafe.Pointer(state)))
	if r != success {
		return driver.Image{}, "", d.refused(op, r, o)
	}
	// The machine code belongs to the linker, which writes its logs to o until
	// it is destroyed.
	defer goruntime.KeepAlive(o)
	defer d.try(d.lib.cuLinkDestroy, *state)
	name := append([]byte(img.Name), 0)
	r = d.try(d.lib.cuLinkAddData, *state, jitInputPTX, uintptr(unsafe.Pointer(&code[0])), uintptr(len(code)), uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
	if r != success {
		return driver.Image{}, text(o.errors), d.refused(op, r, o)
	}
	cubin, size := new(uintptr), new(uintptr)
	r = d.try(d.lib.cuLinkComplete, *state, uintptr(unsafe.Pointer(cubin)), uintptr(unsafe.Pointer(size)))
	if r != success {
		return driver.Image{}, text(o.errors), d.refused(op, r, o)
	}
	img.Format, img.Code = "cubin", bytes.Clone(dl.Bytes(*cubin, int(*size)))
	return img, text(o.info), nil
}

// Function finds a kernel and asks what launches are checked against.
func (m *module) Function(name string) (driver.Function, error) {
	d := m.dev
	op, h, cname := "kernel "+name, new(uintptr), append([]byte(name), 0)
	if err := d.do(op, d.lib.cuModuleGetFunction, uintptr(unsafe.Pointer(h)), m.handle, uintptr(unsafe.Pointer(&cname[0]))); err != nil {
		return nil, err
	}
	f := &function{dev: d, handle: *h, info: driver.FunctionInfo{Name: name}}
	if err := f.ask(attribute{funcMaxThreads, &f.info.MaxThreads}, attribute{funcSharedBytes, &f.info.Shared}); err != nil {
		return nil, err
	}
	f.maxDynamic.Store(int64(max(0, plainShared-f.info.Shared)))
	f.argBytes = d.paramBytes(*h)
	return f, nil
}

// paramBytes returns the size of a kernel's parameters in whole words, 0 if the driver is
// too old to tell.
func (d *device) paramBytes(handle uintptr) int {
	if d.lib.cuFuncGetParamInfo == 0 {
		return 0
	}
	goruntime.LockOSThread() // with the context, for all of them
	defer goruntime.UnlockOSThread()
	if call(d.lib.cuCtxSetCurrent, d.ctx) != success {
		return 0
	}
	end, at, size := 0, new(uintptr), new(uintptr)
	for i := uintptr(0); call(d.lib.cuFuncGetParamInfo, handle, i, uintptr(unsafe.Pointer(at)), uintptr(unsafe.Pointer(size))) == success; i++ {
		end = int(*at + *size)
	}
	return (end + 3) &^ 3
}

func (m *module) Close() error {
	return m.dev.do("unload a module", m.dev.lib.cuModuleUnload, m.handle)
}

// plainShared is how much shared memory a kernel gets without asking.
const plainShared = 48 << 10

// function is a CUfunction.
type function struct {
	dev        *device
	handle     uintptr
	info       driver.FunctionInfo
	asking     sync.Mutex
	maxDynamic atomic.Int64 // dynamic shared memory that was asked for
	argBytes   int          // of the parameters, 0 for unknown
	occupancy  driver.Occupancy
}

// Info says what blocks the kernel runs in.
func (f *function) Info() driver.FunctionInfo { return f.info }

// Details asks for the rest.
func (f *function) Details() (driver.FunctionInfo, error) {
	info := f.info
	err := f.ask(attribute{funcLocalBytes, &info.Local}, attribute{funcRegisters, &info.Registers})
	return info, err
}

// attribute is one of a kernel, and where to put it.
type attribute struct {
	id uintptr
	to *int
}

func (f *function) ask(list ...attribute) error {
	for _, a := range list {
		v := new(int32)
		if err := f.dev.do("kernel "+f.info.Name, f.dev.lib.cuFuncGetAttribute, uintptr(unsafe.Pointer(v)), a.id, f.handle); err != nil {
			return err
		}
		*a.to = int(*v)
	}
	return nil
}

// allowDynamic asks for more dynamic shared memory, once for each new maximum.
func (f *function) allowDynamic(size int) error {
	f.asking.Lock()
	defer f.asking.Unlock()
	if int64(size) <= f.maxDynamic.Load() {
		return nil
	}
	if err := f.dev.do("launch "+f.info.Name, f.dev.lib.cuFuncSetAttribute, f.handle, funcMaxDynamic, uintptr(size)); err != nil {
		return err
	}
	f.maxDynamic.Store(int64(size))
	return nil
}
