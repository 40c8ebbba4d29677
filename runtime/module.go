package runtime

import (
	"fmt"
	goruntime "runtime"

	"github.com/gokiln/kiln/internal/dim"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Image is device code: its format ("ptx", "cubin", "kir"), bytes, and options.
type Image = driver.Image

// FunctionInfo is what the driver knows about a loaded kernel.
type FunctionInfo = driver.FunctionInfo

// Module is code loaded on a device. It stays loaded while the Module or one
// of its Functions is reachable.
type Module struct {
	dev      *Device
	drv      driver.Module
	shared   int // of the image, and
	overlaps bool
}

// Load loads code. For "ptx" that means compiling it: see [Device.Finalize].
func (d *Device) Load(img Image) (*Module, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	drv, err := d.drv.Load(img)
	if err != nil {
		return nil, d.wrap(err)
	}
	m := &Module{dev: d, drv: drv, shared: img.Shared, overlaps: img.Overlaps}
	goruntime.AddCleanup(m, func(drv driver.Module) { d.unload(drv) }, drv)
	return m, nil
}

// unload waits for kernels of the module that may still run. That can take
// long, so it must not hold up other cleanups.
func (d *Device) unload(m driver.Module) {
	go d.cleanUp(func() error {
		if err := d.drv.Sync(); err != nil {
			d.unreported.CompareAndSwap(nil, &err) // it is news to whoever waits next
		}
		return m.Close()
	})
}

// Function returns the kernel of that name.
func (m *Module) Function(name string) (*Function, error) {
	if err := m.dev.usable(); err != nil {
		return nil, err
	}
	drv, err := m.drv.Function(name)
	if err != nil {
		return nil, m.dev.wrap(err)
	}
	f := &Function{module: m, drv: drv, info: drv.Info(), launched: launched{[]string{name}}}
	f.info.Name = name
	f.info.Shared += m.shared
	if n, most := f.info.Shared, m.dev.info.SharedPerBlock; n > most {
		return nil, m.dev.invalid("kernel "+name, fmt.Sprintf("%d bytes of shared memory; a block can have %d: use smaller dsl.Shared arrays", n, most))
	}
	return f, nil
}

// Function is a kernel that can be launched.
type Function struct {
	module *Module
	drv    driver.Function
	info   FunctionInfo // without what only Info is asked for
	launched
	grid  *gridArgs // nil for a kernel without barriers of the grid
	log   *Log      // nil if the kernel does not write to the device log
	logID uint32
}

// Name is the kernel's name in its module.
func (f *Function) Name() string { return f.info.Name }

// Info says what the kernel needs. It asks the driver, which says nothing of registers and
// local memory once the device is closed or has failed.
func (f *Function) Info() FunctionInfo {
	d, ok := f.drv.(driver.Detailed)
	if !ok || f.module.dev.usable() != nil {
		return f.info
	}
	info, err := d.Details()
	goruntime.KeepAlive(f.module)
	if f.module.dev.wrap(err) != nil {
		return f.info
	}
	info.Name, info.Shared = f.info.Name, f.info.Shared
	return info
}

// ResidentBlocks is how many blocks of so many threads and so many bytes of dynamic shared memory
// the device holds at the same time, if nothing else runs there. A launch of a kernel with barriers
// of the grid (t.SyncGrid) can have as many.
func (f *Function) ResidentBlocks(threads Dim3, shared int) (int, error) {
	d := f.module.dev
	if err := d.usable(); err != nil {
		return 0, err
	}
	op := "count the resident blocks of " + f.info.Name
	r, ok := f.drv.(driver.Resident)
	if !ok {
		return 0, d.invalid(op, "the driver of the device cannot tell")
	}
	block := dim.Array(threads)
	if text := f.checkBlock(&block, shared); text != "" {
		return 0, d.invalid(op, text)
	}
	blocks, err := r.ResidentBlocks(block, shared+f.module.shared)
	goruntime.KeepAlive(f.module)
	return blocks, d.wrap(err)
}

// MaxThreads is how many threads a block of this kernel may have.
func (f *Function) MaxThreads() int { return f.info.MaxThreads }

// Device is where the kernel is loaded.
func (f *Function) Device() *Device { return f.module.dev }

// Finalize compiles an image to the form that loads fastest on this device and
// returns it with the vendor compiler's log. Where the format is final already
// it returns the image unchanged.
func (d *Device) Finalize(img Image) (Image, string, error) {
	if err := d.usable(); err != nil {
		return Image{}, "", err
	}
	out, log, err := d.drv.Finalize(img)
	return out, log, d.wrap(err)
}

// FinalKey names what a finalised image depends on besides its source: the
// architecture and the driver's version. It is "" where Finalize changes nothing.
func (d *Device) FinalKey() string { return d.drv.FinalKey() }
