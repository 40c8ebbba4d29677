package metal

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/hostcopy"
)

// device is a GPU.
type device struct {
	lib     *library
	info    driver.Info
	handle  uintptr // id<MTLDevice>
	unified bool    // host and GPU share their memory
	staging *hostcopy.Staging
	def     *stream

	mu      sync.Mutex
	words   driver.Scratch // arguments of the call being made
	next    uint64         // number of the latest operation of any stream
	streams []*stream      // that are open, def first
	memory  memory
	report  func(driver.Failure) error
	owned   map[uintptr]struct{} // what Close has to release

	compiled struct { // what Finalize compiled last, for the load that follows
		text   string
		handle uintptr
	}
}

func newDevice(l *library, info driver.Info, handle uintptr) (*device, error) {
	d := &device{lib: l, info: info, owned: map[uintptr]struct{}{}}
	d.handle = d.own(l.send(handle, l.retain))
	d.unified = l.send(handle, l.unified)&0xff != 0
	d.staging = hostcopy.New(d)
	var err error
	if d.def, err = d.newStream(); err != nil {
		d.releaseAll()
		return nil, err
	}
	return d, nil
}

func (d *device) invalid(op, text string) error {
	return &driver.Error{Op: op, Device: d.info.Name, Kind: driver.ErrInvalid, Text: text}
}

// own notes an object that has to be released.
func (d *device) own(object uintptr) uintptr {
	if object != 0 {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.owned[object] = struct{}{}
	}
	return object
}

// disown releases an object, unless Close has done so.
func (d *device) disown(object uintptr) {
	d.mu.Lock()
	_, ok := d.owned[object]
	delete(d.owned, object)
	d.mu.Unlock()
	if ok {
		d.lib.send(object, d.lib.release)
	}
}

func (d *device) releaseAll() {
	for object := range d.owned {
		d.lib.send(object, d.lib.release)
	}
	d.owned = map[uintptr]struct{}{}
}

// msg sends a message, with mu held; it allocates nothing.
func (d *device) msg(object, selector, a, b, c, e uintptr) uintptr {
	d.words = driver.Scratch{object, selector, a, b, c, e}
	return dl.Call(d.lib.msgSend, d.words[:6])
}

// ---- driver.Device

// Info is what the device is.
func (d *device) Info() driver.Info { return d.info }

// MemInfo counts what this process has taken from what the system recommends.
func (d *device) MemInfo() (free, total int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(0, d.info.MemTotal-d.memory.used), d.info.MemTotal, nil
}

// Default is the stream that is ordered against all others.
func (d *device) Default() driver.Stream { return d.def }

// NewStream makes a stream with a queue of its own.
func (d *device) NewStream() (driver.Stream, error) { return d.newStream() }

// NewMark makes an event for package hostcopy, whose chunks go from stream to stream: a
// kernel's failure is for its own stream to report.
func (d *device) NewMark() (driver.Event, error) { return &event{dev: d, quiet: true}, nil }

// AllocHost returns memory that blits can use.
func (d *device) AllocHost(size int) ([]byte, error) {
	b, err := d.allocate(int64(size), true)
	if err != nil {
		return nil, err
	}
	return dl.Bytes(b.contents, size), nil
}

// FreeHost frees memory of AllocHost, when nothing uses it any more.
func (d *device) FreeHost(mem []byte) error {
	return d.free(uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))), true)
}

// Trim waits, so that what was freed is released.
func (d *device) Trim() error {
	d.waitAll()
	return nil
}

// OnFailure has fn called with each operation that failed.
func (d *device) OnFailure(fn func(driver.Failure) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.report = fn
}

// Wait waits for all streams.
func (d *device) Wait() { d.waitAll() }

// Sync waits for all streams.
func (d *device) Sync() error {
	d.waitAll()
	return d.takeFailure()
}

// takeFailure returns what has failed first of what was not reported.
func (d *device) takeFailure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var first failure
	for _, s := range d.streams {
		if s.failed.err != nil && (first.err == nil || s.failed.number < first.number) {
			first = s.failed
		}
		s.failed = failure{}
	}
	return first.err
}

// Close waits, and releases what was made on the device.
func (d *device) Close() error {
	err := d.Sync()
	d.staging.Close()
	d.waitAll() // for what the staging freed
	d.mu.Lock()
	defer d.mu.Unlock()
	d.memory.close(d)
	d.releaseAll()
	d.streams = d.streams[:0]
	return err
}

// size prints a number of bytes for messages.
func size(n int64) string { return fmt.Sprintf("%d bytes", n) }
