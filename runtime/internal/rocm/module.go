package rocm

import (
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// check refuses images that are not code for this device.
func (d *device) check(img driver.Image) error {
	text := ""
	switch {
	case img.Format != "hip" && img.Format != "hsaco":
		text = "an AMD GPU runs code of format hsaco or hip, not " + img.Format
	case len(img.Code) == 0:
		text = "the image is empty"
	case img.Format == "hip" && d.lib.rtc == nil:
		text = "HIP text needs the compiler hipRTC, which was not found: " + oneLine(d.lib.rtcErr)
	case img.Format == "hsaco" && !isObject(img.Code):
		// HIP takes no length: what is no ELF file would be read to who knows where.
		text = "the image is not a code object: it does not begin as an ELF file or a bundle"
	default:
		return nil
	}
	return &driver.Error{Op: "load kernel " + img.Name, Device: d.info.Name, Kind: driver.ErrBadImage, Text: text}
}

// isObject reports whether code is an ELF file, or several in a bundle of clang's.
func isObject(code []byte) bool {
	const elf, bundle, compressed = "\x7fELF", "__CLANG_OFFLOAD_BUNDLE__", "CCOB"
	for _, magic := range []string{elf, bundle, compressed} {
		if len(code) >= 64 && string(code[:len(magic)]) == magic {
			return true
		}
	}
	return false
}

// module is a hipModule_t.
type module struct {
	dev    *device
	handle uintptr
}

// Load loads a code object, or compiles HIP text and loads that.
func (d *device) Load(img driver.Image) (driver.Module, error) {
	final, _, err := d.finalize("load kernel "+img.Name, img)
	if err != nil {
		return nil, err
	}
	h := new(uintptr)
	err = d.do("load kernel "+img.Name, d.lib.hipModuleLoad, uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(&final.Code[0])))
	if d.made(err, d.lib.hipModuleUnload, h) != nil {
		return nil, err
	}
	return &module{dev: d, handle: *h}, nil
}

// Finalize compiles HIP text to a code object with hipRTC.
func (d *device) Finalize(img driver.Image) (driver.Image, string, error) {
	return d.finalize("compile kernel "+img.Name, img)
}

func (d *device) finalize(op string, img driver.Image) (driver.Image, string, error) {
	if err := d.check(img); err != nil {
		return driver.Image{}, "", err
	}
	if img.Format == "hsaco" {
		return img, "", nil
	}
	code, log, err := d.lib.rtc.compile(op, d.info.Name, d.target, img)
	if err != nil {
		return driver.Image{}, log, err
	}
	img.Format, img.Code = "hsaco", code
	return img, log, nil
}

// Function finds a kernel and asks what launches are checked against.
func (m *module) Function(name string) (driver.Function, error) {
	d := m.dev
	op, h, cname := "kernel "+name, new(uintptr), cstring(name)
	if err := d.do(op, d.lib.hipModuleGetFunction, uintptr(unsafe.Pointer(h)), m.handle, uintptr(unsafe.Pointer(&cname[0]))); err != nil {
		return nil, err
	}
	f := &function{dev: d, handle: *h, info: driver.FunctionInfo{Name: name}}
	if err := f.ask(attribute{funcMaxThreads, &f.info.MaxThreads}, attribute{funcSharedBytes, &f.info.Shared}); err != nil {
		return nil, err
	}
	return f, nil
}

func (m *module) Close() error {
	return m.dev.destroy("unload a module", m.dev.lib.hipModuleUnload, m.handle)
}

// function is a hipFunction_t.
type function struct {
	dev    *device
	handle uintptr
	info   driver.FunctionInfo

	occupancy driver.Occupancy
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
		if err := f.dev.do("kernel "+f.info.Name, f.dev.lib.hipFuncGetAttribute, uintptr(unsafe.Pointer(v)), a.id, f.handle); err != nil {
			return err
		}
		*a.to = int(*v)
	}
	return nil
}
