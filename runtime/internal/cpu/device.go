package cpu

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"sync/atomic"

	"github.com/gokiln/kiln/runtime/internal/cpu/native"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

const deviceName = "cpu"

// Backend is the CPU as a kind of device.
type Backend struct {
	Load  Loader // runs IR; nil refuses it
	Limit int64  // bytes of device memory; 0 means the machine's memory

	engines bool // kernels run on the engines of this build
}

// New returns the backend with the engines of this build. KILN_CPU chooses the one
// that a device without a name of its own has.
func New() *Backend { return &Backend{engines: true} }

// Kind is "cpu".
func (b *Backend) Kind() string { return "cpu" }

// Probe reports the one CPU device, which always exists.
func (b *Backend) Probe() driver.Report {
	e, err := b.engine(0)
	if err != nil {
		return driver.Report{Kind: "cpu", Driver: "kiln", Err: err}
	}
	info := b.info(0, e)
	return driver.Report{Kind: "cpu", Driver: info.Driver, Devices: []driver.Info{info}}
}

// engine returns that of a device, see [Backend.Ordinal].
func (b *Backend) engine(ordinal int) (engine, error) {
	switch {
	case !b.engines:
		return engine{warp: WarpSize}, nil
	case ordinal < 0:
		return chooseEngine(engines[-1-ordinal].name)
	}
	return environment()
}

// Open returns a new device.
func (b *Backend) Open(ordinal int) (driver.Device, error) {
	if ordinal > 0 || -ordinal > len(engines) {
		return nil, &driver.Error{Op: fmt.Sprintf("open cpu:%d", ordinal), Kind: driver.ErrNoDevice,
			Text: "there is one CPU device, cpu"}
	}
	e, err := b.engine(ordinal)
	if err != nil {
		return nil, &driver.Error{Op: "open " + nameOf(ordinal), Kind: driver.ErrNoDevice, Cause: err}
	}
	d := &device{info: b.info(ordinal, e), load: b.Load, queue: newQueue(), idle: e.idle}
	if b.engines {
		d.load, d.native = interpreter(e.warp), e.arch != ""
	}
	d.memory = newArena(d.info.MemTotal)
	d.defaultStream = &stream{dev: d}
	return d, nil
}

// nameOf is the name of the device with a number.
func nameOf(ordinal int) string {
	if ordinal < 0 {
		return deviceName + ":" + engines[-1-ordinal].name
	}
	return deviceName
}

func (b *Backend) info(ordinal int, e engine) driver.Info {
	total := b.Limit
	if total == 0 {
		total, _ = systemMemory()
	}
	info := driver.Info{
		Name: nameOf(ordinal), Kind: "cpu", Vendor: "CPU", Model: modelName(), MaxThreads: maxThreads,
		MaxBlock: [3]int{maxThreads, maxThreads, 64},
		MaxGrid:  [3]int{1<<31 - 1, 65535, 65535}, SharedPerBlock: sharedPerBlock,
		Units: goruntime.GOMAXPROCS(0), ThreadsPerUnit: maxThreads, MemTotal: total, GridBarriers: true,
	}
	e.describe(&info)
	return info
}

type device struct {
	info          driver.Info
	load          Loader
	native        bool // runs native code, too
	idle          bool // runs nothing
	workers       native.Pool
	memory        *arena
	queue         *queue
	limit         atomic.Int64 // nanoseconds of a kernel, 0 for no bound
	defaultStream *stream
}

// Info is what the machine is.
func (d *device) Info() driver.Info { return d.info }

// MemInfo counts what this device gave out against the machine's memory, and
// takes the system's word when less than that is free.
func (d *device) MemInfo() (free, total int64, err error) {
	free = d.memory.room()
	if _, avail := systemMemory(); avail > 0 && avail < free {
		free = avail
	}
	return free, d.info.MemTotal, nil
}

// Default is ordered against all streams, as every stream is.
func (d *device) Default() driver.Stream { return d.defaultStream }

// NewStream returns a stream with its own error state.
func (d *device) NewStream() (driver.Stream, error) { return &stream{dev: d}, nil }

// AllocHost is memory of Go that counts as the device's: the program holds slices of it,
// which stay valid when the device is closed.
func (d *device) AllocHost(size int) ([]byte, error) {
	if err := d.memory.reserve(int64(size)); err != nil {
		return nil, noMemory(int64(size), err)
	}
	mem := make([]byte, size+minClass)
	off := int(-addrOf(mem) & (minClass - 1))
	return mem[off : off+size : off+size], nil
}

// FreeHost gives back memory of AllocHost; the caller has waited for its copies.
func (d *device) FreeHost(mem []byte) error {
	d.memory.release(int64(len(mem)))
	return nil
}

// Trim runs the frees that are queued and unmaps what is kept for reuse.
func (d *device) Trim() error {
	d.Wait()
	d.memory.trim()
	d.workers.Trim()
	return nil
}

// Finalize has nothing to do: the executor compiles as it loads.
func (d *device) Finalize(img driver.Image) (driver.Image, string, error) { return img, "", nil }

// FinalKey is empty: images are final as they are.
func (d *device) FinalKey() string { return "" }

// OnFailure has fn called with each kernel that failed.
func (d *device) OnFailure(fn func(driver.Failure) error) {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	d.queue.report = fn
}

// Wait waits for all streams.
func (d *device) Wait() { d.queue.wait(d.queue.last()) }

// Sync waits for all streams and reports what failed on any of them.
func (d *device) Sync() error {
	d.Wait()
	return d.queue.takeErrors(nil)
}

// Close waits, and gives all memory back. Work that comes later is refused: it would use
// memory that is not there.
func (d *device) Close() error {
	d.queue.close()
	err := d.queue.takeErrors(nil)
	d.memory.close()
	d.workers.Trim()
	return err
}

func (d *device) alloc(size int64) (driver.Addr, error) {
	p, err := d.memory.alloc(size)
	if err != nil {
		return 0, noMemory(size, err)
	}
	return driver.Addr(p), nil
}

// noMemory says why memory was not allocated.
func noMemory(size int64, cause error) error {
	kind := driver.ErrOutOfMemory
	if errors.Is(cause, driver.ErrClosed) {
		kind = driver.ErrClosed
	}
	return &driver.Error{Op: fmt.Sprintf("allocate %d bytes", size), Device: deviceName, Kind: kind, Cause: cause}
}
