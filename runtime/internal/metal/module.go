package metal

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// module is an MTLLibrary.
type module struct {
	dev     *device
	handle  uintptr
	archive []byte // of its machine code, nil if there is none
	dynamic bool   // its kernels have an array of threadgroup memory whose length a launch decides
	mu      sync.Mutex
	states  []uintptr // of its kernels
}

// function is an MTLComputePipelineState.
type function struct {
	dev     *device
	handle  uintptr
	info    driver.FunctionInfo
	dynamic bool // see module
}

// Load compiles Metal's language, or opens a library that Apple's tools made of it. Of an image
// that was finalised the machine code is there already.
func (d *device) Load(img driver.Image) (driver.Module, error) {
	op := "load kernel " + img.Name
	text, archive := string(img.Code), []byte(nil)
	switch {
	case len(img.Code) == 0:
		return nil, d.refused(op, "the image is empty")
	case img.Format == formatArchive:
		var ok bool
		if text, archive, ok = unpack(img.Code); !ok {
			return nil, d.refused(op, "the image is damaged")
		}
	case img.Format == formatLibrary:
		return d.open(op, img)
	case img.Format != formatText:
		return nil, d.refused(op, "an Apple GPU runs code of format msl, not "+img.Format)
	}
	defer d.lib.pool()()
	h := d.takeCompiled(text)
	if h == 0 {
		var err error
		if h, err = d.compile(op, text); err != nil {
			return nil, err
		}
	}
	return &module{dev: d, handle: h, archive: archive, dynamic: img.Dynamic}, nil
}

// open makes a module of a library in Metal's own format, which Metal reads from a file.
func (d *device) open(op string, img driver.Image) (driver.Module, error) {
	l := d.lib
	defer l.pool()()
	var m *module
	err := asFile(img.Code, func(name string) error {
		failure := new(uintptr)
		h := l.send(d.handle, l.openLibrary, l.url(name), uintptr(unsafe.Pointer(failure)))
		if h == 0 {
			return d.compileError(op, *failure, "")
		}
		m = &module{dev: d, handle: d.own(h), dynamic: img.Dynamic}
		return nil
	})
	if refused := (*driver.Error)(nil); err != nil && !errors.As(err, &refused) {
		err = &driver.Error{Op: op, Device: d.info.Name, Cause: err} // there is no room for files
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// compile makes an MTLLibrary of a text, with a pool in place.
func (d *device) compile(op, text string) (uintptr, error) {
	l := d.lib
	options := l.send(l.options, l.new)
	defer l.send(options, l.release)
	var major, minor uintptr
	if _, err := fmt.Sscanf(d.info.Arch, "%d.%d", &major, &minor); err != nil {
		return 0, fmt.Errorf("%s: language version %q: %w", op, d.info.Arch, err)
	}
	l.send(options, l.setLanguage, major<<16|minor)
	if l.has(options, l.setMathMode) {
		l.send(options, l.setMathMode, mathSafe)
	} else {
		l.send(options, l.setFastMath, 0)
	}
	failure := new(uintptr)
	h := l.send(d.handle, l.newLibrary, l.string(text), options, uintptr(unsafe.Pointer(failure)))
	if h == 0 {
		return 0, d.compileError(op, *failure, text)
	}
	return d.own(h), nil
}

func (d *device) refused(op, text string) error {
	return &driver.Error{Op: op, Device: d.info.Name, Kind: driver.ErrBadImage, Text: text}
}

// compileError is what Metal's compiler said, with the lines of Go where the text
// has them.
func (d *device) compileError(op string, failure uintptr, text string) error {
	l := d.lib
	return &driver.Error{Op: op, Device: d.info.Name, Kind: driver.ErrBadImage, Name: "MTLLibraryError", Code: int(l.send(failure, l.code)),
		Log: driver.GoLines(l.text(l.send(failure, l.description)), "program_source", text)}
}

// Function finds a kernel and makes it ready to run.
func (m *module) Function(name string) (driver.Function, error) {
	d, l := m.dev, m.dev.lib
	op := "kernel " + name
	defer l.pool()()
	f := l.send(m.handle, l.newFunction, l.string(name))
	if f == 0 {
		return nil, &driver.Error{Op: op, Device: d.info.Name, Kind: driver.ErrNotFound, Text: "the library has no function of that name"}
	}
	defer l.send(f, l.release)
	h, err := m.pipeline(op, f)
	if err != nil {
		return nil, err
	}
	if width := int(l.send(h, l.width)); width != d.info.WarpSize {
		l.send(h, l.release)
		return nil, d.refused(op, fmt.Sprintf("the GPU runs it with simdgroups of %d threads; code is for %d", width, d.info.WarpSize))
	}
	fn := &function{dev: d, handle: d.own(h), info: driver.FunctionInfo{
		Name: name, MaxThreads: int(l.send(h, l.maxThreads)), Shared: int(l.send(h, l.static)),
	}, dynamic: m.dynamic}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states = append(m.states, h)
	return fn, nil
}

// pipeline makes the MTLComputePipelineState of a function, from the archive if that
// has it.
func (m *module) pipeline(op string, f uintptr) (uintptr, error) {
	d, l := m.dev, m.dev.lib
	if m.archive != nil {
		if h := d.archived(m.archive, f); h != 0 {
			return h, nil
		}
	}
	failure := new(uintptr)
	h := l.send(d.handle, l.newPipeline, f, uintptr(unsafe.Pointer(failure)))
	if h == 0 {
		return 0, d.compileError(op, *failure, "")
	}
	return h, nil
}

// Close releases the library and its kernels.
func (m *module) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, state := range m.states {
		m.dev.disown(state)
	}
	m.states = nil
	m.dev.disown(m.handle)
	return nil
}

// Info says what the kernel needs.
func (f *function) Info() driver.FunctionInfo { return f.info }
