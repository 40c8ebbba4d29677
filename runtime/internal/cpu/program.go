package cpu

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gokiln/kiln/compiler/interp"
	"github.com/gokiln/kiln/runtime/internal/cpu/native"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

const maxThreads = 1024 // of a block

// sharedPerBlock is what the compiler may count on, for kernels of the largest GPU.
const sharedPerBlock = 227 << 10

// WarpSize is the number of threads that kernels see as a warp where nothing else
// is chosen.
const WarpSize = interp.WarpSize

// Loader turns the text of a kernel into something that can be run.
type Loader func(name string, text []byte) (Program, error)

// Program is a kernel that can be run. Run returns when all blocks are done.
type Program interface {
	Name() string // as the code calls it
	Run(grid, block [3]int, args []byte) error
}

// The formats of code that a device may load.
const (
	formatIR     = "kir"
	formatNative = "x86"
)

type module struct {
	dev     *device
	program Program
}

// Load prepares the image; the executor checks it here, not at the first launch.
func (d *device) Load(img driver.Image) (driver.Module, error) {
	refuse := func(text string, cause error) (driver.Module, error) {
		return nil, &driver.Error{Op: "load kernel " + img.Name, Device: d.info.Name, Kind: driver.ErrBadImage, Text: text, Cause: cause}
	}
	switch {
	case !slices.Contains(d.info.Formats, img.Format):
		return refuse(fmt.Sprintf("the device loads code of format %s, not %s", strings.Join(d.info.Formats, " or "), img.Format), nil)
	case img.Format == formatNative:
		p, warp, err := d.loadNative(img)
		if err != nil {
			return refuse("", err)
		}
		m := &module{d, p}
		if warp != d.info.WarpSize {
			_ = m.Close() // which does not fail
			return refuse(fmt.Sprintf("the code is for warps of %d threads, the device has %d", warp, d.info.WarpSize), nil)
		}
		return m, nil
	case d.load == nil:
		return refuse("this program has no executor for kernels on the CPU", nil)
	}
	p, err := d.load(img.Name, img.Code)
	if err != nil {
		return refuse("", err)
	}
	return &module{d, p}, nil
}

// loadNative loads machine code, and says how many threads a warp of it has.
func (d *device) loadNative(img driver.Image) (Program, int, error) {
	if d.idle {
		return loadIdle(img.Code)
	}
	p, err := native.Load(&d.workers, img.Code, img.Place)
	if err != nil {
		return nil, 0, err
	}
	return compiled{p}, p.WarpSize(), nil
}

// Function returns the one kernel of an image.
func (m *module) Function(name string) (driver.Function, error) {
	if have := m.program.Name(); name != have {
		return nil, &driver.Error{Op: "kernel " + name, Device: m.dev.info.Name, Kind: driver.ErrNotFound,
			Text: "the image holds the kernel " + have}
	}
	f := &function{dev: m.dev, name: name, program: m.program}
	f.estimate, _ = m.program.(estimator)
	return f, nil
}

// Close unloads the code. Launches that run still end.
func (m *module) Close() error {
	if p, ok := m.program.(compiled); ok {
		p.Close()
	}
	return nil
}

type function struct {
	dev      *device
	name     string
	program  Program
	estimate estimator // nil if there is none
}

// Info says what is known before a launch.
func (f *function) Info() driver.FunctionInfo {
	info := driver.FunctionInfo{Name: f.name, MaxThreads: maxThreads}
	switch p := f.program.(type) {
	case compiled:
		info.Shared, info.Local = p.Shared(), p.Local()
	case interface{ Shared() int }:
		info.Shared = p.Shared()
	}
	return info
}

// ResidentBlocks is how many blocks can wait for each other, if those of the kernel do so, and else
// how many run at the same time.
func (f *function) ResidentBlocks(block [3]int, _ int) (int, error) {
	if p, ok := f.program.(interface {
		Resident(block [3]int) (int, error)
	}); ok {
		return p.Resident(block)
	}
	return f.dev.info.Units, nil
}

// shortTime is up to which a kernel runs on the goroutine that launches it: handing
// it over would take about as long.
const shortTime = 50 * time.Microsecond

// short reports whether a launch is expected to be done so soon that it may as well
// be done at once.
func (f *function) short(grid [3]int) bool {
	if f.estimate == nil {
		return false
	}
	d := f.estimate.Expect(grid)
	return d > 0 && d < shortTime
}

// run runs a kernel.
func (f *function) run(grid, block [3]int, args []byte) error {
	if limit := f.dev.limit.Load(); limit > 0 {
		return f.runWithin(time.Duration(limit), grid, block, args)
	}
	return f.guarded(func() error { return f.program.Run(grid, block, args) })
}

// guarded makes what goes wrong with a kernel its error. A panic of the executor is a failure
// of the kernel, not of the program.
func (f *function) guarded(run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &driver.Error{Device: f.dev.info.Name, Kernels: []string{f.name},
				Kind: driver.ErrLaunch, Text: fmt.Sprint(p), Log: string(debug.Stack())}
		}
	}()
	if err = run(); err != nil {
		err = &driver.Error{Device: f.dev.info.Name, Kernels: []string{f.name},
			Kind: driver.ErrLaunch, Cause: err}
	}
	return err
}
