package metal

import (
	"fmt"
	goruntime "runtime"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// device is a GPU.
type device struct {
	lib    *library
	info   driver.Info
	handle uintptr // id<MTLDevice>
	queue  uintptr // id<MTLCommandQueue>
	event  uintptr // id<MTLSharedEvent>: the number of the latest operation that is done

	mu      sync.Mutex
	words   [24]uintptr // arguments of the call being made
	next    uint64      // number of the latest operation
	done    uint64      // and of the latest that is known to be done
	pending []operation // those in between
	failed  error       // of a kernel, not reported yet
	memory  memory
	owned   map[uintptr]struct{} // what Close has to release
}

// operation is a command buffer that was committed.
type operation struct {
	buffer uintptr // id<MTLCommandBuffer>
	number uint64
	kernel string // "" if it is none
	mark   *event // to be told when it was done, or nil
}

func newDevice(l *library, info driver.Info, handle uintptr) (*device, error) {
	d := &device{lib: l, info: info, owned: map[uintptr]struct{}{}}
	d.handle = d.own(l.send(handle, l.retain))
	d.queue, d.event = d.own(l.send(handle, l.newQueue)), d.own(l.send(handle, l.newEvent))
	if d.queue == 0 || d.event == 0 {
		d.releaseAll()
		return nil, d.invalid("open", "Metal makes no command queue")
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
	d.words = [24]uintptr{object, selector, a, b, c, e}
	return dl.Call(d.lib.msgSend, d.words[:6])
}

// ---- the queue, all with mu held and a pool in place

// begin opens a command buffer that waits for the operation before it.
func (d *device) begin(op string) (uintptr, error) {
	d.reap()
	cb := d.msg(d.queue, d.lib.commandBuffer, 0, 0, 0, 0)
	if cb == 0 {
		return 0, d.invalid(op, "Metal makes no command buffer")
	}
	d.msg(cb, d.lib.retain, 0, 0, 0, 0)
	d.msg(cb, d.lib.waitFor, d.event, uintptr(d.next), 0, 0)
	return cb, nil
}

// commit submits what was encoded.
func (d *device) commit(cb uintptr, kernel string, mark *event) {
	d.next++
	d.msg(cb, d.lib.signal, d.event, uintptr(d.next), 0, 0)
	d.msg(cb, d.lib.commit, 0, 0, 0, 0)
	if len(d.pending) == cap(d.pending) { // those that are done left room at the front
		d.pending = append(make([]operation, 0, 2*len(d.pending)+64), d.pending...)
	}
	d.pending = append(d.pending, operation{cb, d.next, kernel, mark})
}

// reap takes note of operations that are done.
func (d *device) reap() {
	n := 0
	for ; n < len(d.pending); n++ {
		o := &d.pending[n]
		status := d.msg(o.buffer, d.lib.status, 0, 0, 0, 0)
		if status < statusCompleted {
			break
		}
		if status == statusError {
			if d.failed == nil {
				d.failed = d.failure(o)
			}
			d.msg(d.event, d.lib.setSignaled, uintptr(o.number), 0, 0, 0) // it did not itself
		}
		if o.mark != nil {
			o.mark.reached(o)
		}
		d.done = o.number
		d.msg(o.buffer, d.lib.release, 0, 0, 0, 0)
	}
	if n > 0 {
		d.pending = d.pending[:copy(d.pending, d.pending[n:])]
		d.memory.reclaim(d)
	}
}

// failure is the error of an operation that failed.
func (d *device) failure(o *operation) error {
	err := d.msg(o.buffer, d.lib.error, 0, 0, 0, 0)
	e := &driver.Error{Device: d.info.Name, Name: "MTLCommandBufferError", Code: int(d.msg(err, d.lib.code, 0, 0, 0, 0)),
		Text: dl.Text(d.msg(d.msg(err, d.lib.description, 0, 0, 0, 0), d.lib.utf8, 0, 0, 0, 0)), Kind: driver.ErrLaunch}
	if e.Code == errorOutOfMemory {
		e.Kind = driver.ErrOutOfMemory
	}
	if o.kernel != "" {
		e.Kernels = []string{o.kernel}
	}
	return e
}

// ---- waiting

// wait waits for the operations up to a number.
func (d *device) wait(number uint64) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	for {
		cb := d.first(number)
		if cb == 0 {
			return
		}
		d.lib.send(cb, d.lib.waitDone)
		d.lib.send(cb, d.lib.release)
	}
}

// first is the first operation up to a number that is not done, retained; 0 if there
// is none.
func (d *device) first(number uint64) uintptr {
	defer d.lib.pool()()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reap()
	if len(d.pending) == 0 || d.pending[0].number > number {
		return 0
	}
	return d.msg(d.pending[0].buffer, d.lib.retain, 0, 0, 0, 0)
}

// latest is the number of the latest operation.
func (d *device) latest() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.next
}

// report waits, and returns what has failed and was not reported.
func (d *device) report(number uint64) error {
	d.wait(number)
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.failed
	d.failed = nil
	return err
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

// Default is a stream as all others.
func (d *device) Default() driver.Stream { return &stream{dev: d} }

// NewStream makes a stream; all of them are one queue.
func (d *device) NewStream() (driver.Stream, error) { return &stream{dev: d}, nil }

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
	d.wait(d.latest())
	return nil
}

// FinalKey is "": Metal keeps what it has compiled by itself.
func (d *device) FinalKey() string { return "" }

// Sync waits for all streams.
func (d *device) Sync() error { return d.report(d.latest()) }

// Close waits, and releases what was made on the device.
func (d *device) Close() error {
	err := d.Sync()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.memory.close(d)
	d.releaseAll()
	return err
}

// size prints a number of bytes for messages.
func size(n int64) string { return fmt.Sprintf("%d bytes", n) }
