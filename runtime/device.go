package runtime

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Device is an open device. It is safe for use by several goroutines.
type Device struct {
	drv      driver.Device
	info     Info
	name     string
	def      *Stream
	blocking bool // wait for every launch

	registry *registry
	key      string
	refs     int // guarded by the registry

	life   sync.RWMutex // held for reading by what cleans up behind the program
	closed atomic.Bool
	lost   atomic.Pointer[driver.Error] // why the device cannot be used any more
	hung   atomic.Bool                  // a kernel that does not end is why
	watch  watchdog

	unreported atomic.Pointer[error] // what a wait for the device has found that returns no error

	reclaiming sync.Mutex
	buffers    atomic.Int64
	bytes      atomic.Int64
	peak       atomic.Int64
	limit      atomic.Int64
	dropped    atomic.Int64
	blocks     blockList
	ring       ring
	kept       kept

	captures captures

	out   outputs
	dirty atomic.Int32 // logs of out with records

	logsMu  sync.Mutex
	logs    []*launchLog // of all streams
	retired int          // of them, streams that are gone
}

func newDevice(drv driver.Device) *Device {
	d := &Device{drv: drv, info: drv.Info(), out: outputs{size: defaultOutput, w: os.Stderr}}
	d.name = d.info.Name
	d.def = d.newStream(drv.Default())
	if r, ok := drv.(driver.Reporter); ok {
		d.ring.own = true
		r.OnFailure(d.failed)
	}
	return d
}

// Name is the name by which the device is opened, such as "cuda:0".
func (d *Device) Name() string { return d.name }

// String is the device's name.
func (d *Device) String() string { return d.name }

// Info says what the device is.
func (d *Device) Info() Info { return d.info }

// WarpSize is the number of threads that run in step.
func (d *Device) WarpSize() int { return d.info.WarpSize }

// MemInfo returns the free and the total memory in bytes. Memory that the
// driver keeps for reuse counts as used.
func (d *Device) MemInfo() (free, total int64, err error) {
	if err := d.usable(); err != nil {
		return 0, 0, err
	}
	free, total, err = d.drv.MemInfo()
	return free + d.keptNow(), total, d.wrap(err)
}

// DefaultStream is the stream of everything that names no stream. Its work is
// ordered against the work of all other streams of the device.
func (d *Device) DefaultStream() *Stream { return d.def }

// Sync waits until all work of the device is done and reports what failed.
func (d *Device) Sync() error {
	if err := d.usable(); err != nil {
		return err
	}
	if err := d.def.usable("wait for the device"); err != nil {
		return err
	}
	if err := d.def.patience(); err != nil {
		return err
	}
	logs := d.allLogs()
	counts, noted := make([]uint64, len(logs)), d.ring.before()
	for i, l := range logs {
		counts[i] = l.next.Load()
	}
	err := d.waited(d.drv.Sync())
	if d.lost.Load() == nil {
		for i, l := range logs {
			l.finished(counts[i])
		}
		d.pruneLogs()
	}
	return d.drain(noted, err)
}

// waited is the error of a wait for all of the device's work: its own, or the one that a wait has
// found which nobody receives the error of.
func (d *Device) waited(err error) error {
	if before := d.unreported.Swap(nil); before != nil && err == nil {
		err = *before
	}
	return d.wrap(err)
}

// Close waits for the device's work and gives the device up, once for every
// [Open] that returned it. What was allocated on it cannot be used afterwards.
func (d *Device) Close() error {
	if d.registry != nil && !d.registry.release(d) {
		return nil
	}
	if !d.closed.Load() && d.lost.Load() == nil {
		_ = d.def.patience() // the device is lost then, which is looked at below
	}
	d.life.Lock()
	defer d.life.Unlock()
	if d.closed.Swap(true) {
		return nil
	}
	if d.hung.Load() {
		return d.lost.Load()
	}
	printed := d.drain(0, nil)
	d.watch.close()
	_ = d.letGo(true) // closing reports what is wrong with the device
	err := d.waited(d.drv.Close())
	d.forgetLaunches()
	d.forgetOutputs()
	d.ring.clear()
	if err == nil {
		err = printed
	}
	return err
}

// Closed reports whether the last Close was called.
func (d *Device) Closed() bool { return d.closed.Load() }

// usable reports why the device cannot be used, nil if it can.
func (d *Device) usable() error {
	if d == nil {
		return &driver.Error{Op: "use a device", Kind: ErrNoDevice, Text: "the *Device is nil"}
	}
	if d.closed.Load() {
		return &driver.Error{Op: "use the device", Device: d.name, Kind: ErrClosed}
	}
	if e := d.lost.Load(); e != nil {
		return e
	}
	return nil
}

// cleanUp runs fn for an object that Go has collected, unless the device went
// first and took the object with it.
func (d *Device) cleanUp(fn func() error) {
	d.life.RLock()
	defer d.life.RUnlock()
	if !d.closed.Load() && !d.hung.Load() {
		// Nobody is there to receive an error; a lost device reports itself.
		_ = fn()
	}
}

// Stats counts what a device has given out.
type Stats struct {
	Buffers int   // buffers that are not freed
	Bytes   int64 // their size
	Dropped int64 // buffers so far that were freed because Go collected them
}

// Stats returns the counts; a test compares them to find leaks.
func (d *Device) Stats() Stats {
	return Stats{Buffers: int(d.buffers.Load()), Bytes: d.bytes.Load(), Dropped: d.dropped.Load()}
}
