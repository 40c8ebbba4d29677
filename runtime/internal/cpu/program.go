package cpu

import "github.com/gokiln/kiln/runtime/internal/driver"

// WarpSize is the number of threads that kernels on the CPU see as a warp. It
// is fixed, not the vector width, so that a kernel means the same everywhere.
const WarpSize = 32

const maxThreads = 1024 // of a block

// sharedPerBlock is what the compiler may count on.
const sharedPerBlock = 48 << 10

// Loader turns the text of a kernel into something that can be run.
type Loader func(name string, text []byte) (Program, error)

// Program is a kernel that can be run. Run returns when all blocks are done;
// it may be called by one goroutine at a time.
type Program interface {
	Run(grid, block [3]int, args []byte) error
}

type module struct {
	dev     *device
	name    string
	program Program
}

// Load prepares the image; the executor checks it here, not at the first launch.
func (d *device) Load(img driver.Image) (driver.Module, error) {
	op := "load kernel " + img.Name
	if img.Format != "kir" {
		return nil, &driver.Error{Op: op, Device: deviceName, Kind: driver.ErrBadImage,
			Text: "the CPU runs code of format kir, not " + img.Format}
	}
	if d.load == nil {
		return nil, &driver.Error{Op: op, Device: deviceName, Kind: driver.ErrBadImage,
			Text: "this program has no executor for kernels on the CPU"}
	}
	p, err := d.load(img.Name, img.Code)
	if err != nil {
		return nil, &driver.Error{Op: op, Device: deviceName, Kind: driver.ErrBadImage, Cause: err}
	}
	return &module{dev: d, name: img.Name, program: p}, nil
}

// Function returns the one kernel of an image.
func (m *module) Function(name string) (driver.Function, error) {
	if name != m.name {
		return nil, &driver.Error{Op: "kernel " + name, Device: deviceName, Kind: driver.ErrNotFound,
			Text: "the image holds the kernel " + m.name}
	}
	return &function{name: name, program: m.program}, nil
}

func (m *module) Close() error { return nil }

type function struct {
	name    string
	program Program
}

// Info says what is known before a launch.
func (f *function) Info() driver.FunctionInfo {
	return driver.FunctionInfo{Name: f.name, MaxThreads: maxThreads}
}
