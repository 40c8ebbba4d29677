package cuda

import (
	"bytes"
	"os"
	goruntime "runtime"
	"strconv"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
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
func (l *library) refused(d *vendorapi.Device, op string, r vendorapi.Result, o *jitOptions) error {
	e := l.Failure(op, d.Info().Name, r)
	e.Log = text(o.errors)
	if e.Log == "" {
		e.Log = text(o.info)
	}
	return e
}

// code is an image's bytes as the driver wants them: text ends in a zero byte.
func code(d *vendorapi.Device, img driver.Image) ([]byte, error) {
	switch {
	case img.Format != "ptx" && img.Format != "cubin":
		return nil, &driver.Error{Op: "load kernel " + img.Name, Device: d.Info().Name, Kind: driver.ErrBadImage,
			Text: "an NVIDIA GPU runs code of format cubin or ptx, not " + img.Format}
	case len(img.Code) == 0:
		return nil, &driver.Error{Op: "load kernel " + img.Name, Device: d.Info().Name, Kind: driver.ErrBadImage,
			Text: "the image is empty"}
	case img.Format == "ptx":
		return append(bytes.Clone(img.Code), 0), nil
	}
	return img.Code, nil
}

// Load loads machine code, or compiles PTX and loads that.
func (l *library) Load(d *vendorapi.Device, img driver.Image) (uintptr, error) {
	code, err := code(d, img)
	if err != nil {
		return 0, err
	}
	o, h := newOptions(img), new(uintptr)
	r := d.Try(l.cuModuleLoadDataEx, uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(&code[0])),
		uintptr(len(o.keys)), uintptr(unsafe.Pointer(unsafe.SliceData(o.keys))), uintptr(unsafe.Pointer(unsafe.SliceData(o.values))))
	goruntime.KeepAlive(o)
	if r != vendorapi.Success {
		return 0, l.refused(d, "load kernel "+img.Name, r, o)
	}
	return *h, nil
}

// passesRegisters is the instruction by which warps pass registers to others.
var passesRegisters = []byte("setmaxnreg")

// Finalize compiles PTX to machine code with the driver's linker. That compiles relocatable code, in
// which setmaxnreg is ignored, and then matrix instructions that have too few registers wait for each
// other: such PTX stays as it is, for [library.Load], whose code the driver itself keeps in its cache.
func (l *library) Finalize(d *vendorapi.Device, img driver.Image) (driver.Image, string, error) {
	code, err := code(d, img)
	if err != nil || img.Format == "cubin" || bytes.Contains(code, passesRegisters) {
		return img, "", err
	}
	// A link that moves from one thread to another between its calls, while
	// others run, crashes in the driver now and then.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	op := "compile kernel " + img.Name
	o, state := newOptions(img), new(uintptr)
	r := d.Try(l.cuLinkCreate, uintptr(len(o.keys)), uintptr(unsafe.Pointer(&o.keys[0])), uintptr(unsafe.Pointer(&o.values[0])), uintptr(unsafe.Pointer(state)))
	if r != vendorapi.Success {
		return driver.Image{}, "", l.refused(d, op, r, o)
	}
	// The machine code belongs to the linker, which writes its logs to o until
	// it is destroyed.
	defer goruntime.KeepAlive(o)
	defer d.Try(l.cuLinkDestroy, *state)
	name := append([]byte(img.Name), 0)
	r = d.Try(l.cuLinkAddData, *state, jitInputPTX, uintptr(unsafe.Pointer(&code[0])), uintptr(len(code)), uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
	if r != vendorapi.Success {
		return driver.Image{}, text(o.errors), l.refused(d, op, r, o)
	}
	cubin, size := new(uintptr), new(uintptr)
	r = d.Try(l.cuLinkComplete, *state, uintptr(unsafe.Pointer(cubin)), uintptr(unsafe.Pointer(size)))
	if r != vendorapi.Success {
		return driver.Image{}, text(o.errors), l.refused(d, op, r, o)
	}
	img.Format, img.Code = "cubin", bytes.Clone(dl.Bytes(*cubin, int(*size)))
	return img, text(o.info), nil
}
