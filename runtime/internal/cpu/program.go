package cpu

import "github.com/gokiln/kiln/runtime/internal/driver"

const maxThreads = 1024 // of a block

// sharedPerBlock is what the compiler may count on.
const sharedPerBlock = 48 << 10

// Loader turns the text of a kernel into something that can be run.
type Loader func(name string, text []byte) (Program, error)

// Program is a kernel that can be run. Run returns when all blocks are done.
type Program interface {
	Name() string // as the code calls it
	Run(grid, block [3]int, args []byte) error
}

type module struct{ program Program }

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
	return &module{p}, nil
}

// Function returns the one kernel of an image.
func (m *module) Function(name string) (driver.Function, error) {
	if have := m.program.Name(); name != have {
		return nil, &driver.Error{Op: "kernel " + name, Device: deviceName, Kind: driver.ErrNotFound,
			Text: "the image holds the kernel " + have}
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
