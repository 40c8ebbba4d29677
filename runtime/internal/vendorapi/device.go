package vendorapi

import (
	"fmt"
	"math"
	goruntime "runtime"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/hostcopy"
)

// Device is a GPU.
type Device struct {
	Lib    *Library
	Handle uintptr // CUdevice, hipDevice_t: the ordinal
	Target string  // the architecture with its features

	info          driver.Info
	current       uintptr // what SetCurrent takes
	pool          uintptr // 0 if there is none
	defaultStream *Stream
	staging       *hostcopy.Staging
	owned         owned
	graphs        graphs
}

// openDevice opens a device that there is.
func openDevice(l *Library, ordinal int) (driver.Device, error) {
	d := &Device{Lib: l}
	var err error
	if d.Handle, d.info, d.Target, err = l.Device(ordinal); err != nil {
		return nil, err
	}
	if d.current, err = l.vendor.Current(d); err != nil {
		return nil, err
	}
	d.defaultStream = &Stream{dev: d}
	d.staging = hostcopy.New(d)
	if err := d.openPool(); err != nil {
		// The first error is the one to report.
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

// openPool makes the pool keep what is freed: getting memory from the system
// for every allocation costs a hundred times as much as reusing it.
func (d *Device) openPool() error {
	if !d.info.MemoryPool {
		return nil
	}
	pool, threshold := new(uintptr), new(uint64)
	if err := d.Do("find the memory pool", d.Lib.DefaultPool, uintptr(unsafe.Pointer(pool)), d.Handle); err != nil {
		return err
	}
	*threshold = math.MaxUint64
	if err := d.Do("set up the memory pool", d.Lib.PoolSet, *pool, poolReleaseThreshold, uintptr(unsafe.Pointer(threshold))); err != nil {
		return err
	}
	d.pool = *pool
	return nil
}

// Do calls a function with the device current.
//
//go:uintptrescapes
func (d *Device) Do(op string, fn uintptr, args ...uintptr) error {
	return d.Lib.Error(op, d.info.Name, d.Try(fn, args...))
}

// Try is Do for callers that look at the result themselves.
//
//go:uintptrescapes
func (d *Device) Try(fn uintptr, args ...uintptr) Result {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	if r := d.Enter(); r != Success {
		return r
	}
	return Call(fn, args...)
}

// Enter makes the device current on the thread, which the caller has locked.
func (d *Device) Enter() Result { return Call(d.Lib.SetCurrent, d.current) }

// Pair is a call of fn with the device current.
func (d *Device) Pair(fn uintptr, args [11]uintptr) dl.Pair {
	return dl.Pair{First: d.Lib.SetCurrent, Arg: d.current, Fn: fn, Args: args}
}

// Current is what makes the device current: a CUcontext, or the handle of the device.
func (d *Device) Current() uintptr { return d.current }

// made notes what a call has created, if it did, with what destroys it.
func (d *Device) made(err error, destroy uintptr, handle *uintptr) error {
	if err == nil && !d.Lib.traits.Contexts {
		d.owned.add(destroy, *handle)
	}
	return err
}

// destroy ends something that was noted.
func (d *Device) destroy(op string, fn, handle uintptr) error {
	d.forget(fn, handle)
	return d.Do(op, fn, handle)
}

func (d *Device) forget(destroy, handle uintptr) {
	if !d.Lib.traits.Contexts {
		d.owned.drop(destroy, handle)
	}
}

// Info is what the device is.
func (d *Device) Info() driver.Info { return d.info }

// MemInfo counts what the pool keeps for reuse as free.
func (d *Device) MemInfo() (free, total int64, err error) {
	v := new([2]uint64)
	err = d.Do("ask for free memory", d.Lib.MemInfo, uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1])))
	if err != nil {
		return 0, 0, err
	}
	free, total = int64(v[0]), int64(v[1])
	if d.pool == 0 {
		return free, total, nil
	}
	reserved, err := d.poolNumber(poolReserved)
	if err != nil {
		return 0, 0, err
	}
	used, err := d.poolNumber(poolUsed)
	return free + reserved - used, total, err
}

func (d *Device) poolNumber(attr uintptr) (int64, error) {
	v := new(uint64)
	err := d.Do("ask the memory pool", d.Lib.PoolGet, d.pool, attr, uintptr(unsafe.Pointer(v)))
	return int64(*v), err
}

// Default is the library's null stream.
func (d *Device) Default() driver.Stream { return d.defaultStream }

// NewStream makes a stream that is ordered against the null stream.
func (d *Device) NewStream() (driver.Stream, error) {
	h := new(uintptr)
	err := d.Do("create a stream", d.Lib.StreamCreate, uintptr(unsafe.Pointer(h)), streamBlocking)
	return &Stream{dev: d, handle: *h}, d.made(err, d.Lib.StreamDestroy, h)
}

// AllocHost returns page-locked memory.
func (d *Device) AllocHost(size int) ([]byte, error) {
	p := new(uintptr)
	op := fmt.Sprintf("allocate %d bytes of page-locked memory", size)
	err := d.Do(op, d.Lib.HostAlloc, uintptr(unsafe.Pointer(p)), uintptr(size), hostAllocPortable)
	if d.made(err, d.Lib.HostFree, p) != nil {
		return nil, err
	}
	return dl.Bytes(*p, size), nil
}

// FreeHost frees memory of AllocHost.
func (d *Device) FreeHost(mem []byte) error {
	return d.destroy("free page-locked memory", d.Lib.HostFree, uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
}

// Trim waits for pending frees and empties the pool.
func (d *Device) Trim() error {
	if err := d.Sync(); err != nil || d.pool == 0 {
		return err
	}
	return d.Do("empty the memory pool", d.Lib.PoolTrim, d.pool, 0)
}

// Finalize compiles what is not machine code yet.
func (d *Device) Finalize(img driver.Image) (driver.Image, string, error) {
	return d.Lib.vendor.Finalize(d, img)
}

// FinalKey is what machine code depends on, "" if the device makes none.
func (d *Device) FinalKey() string { return d.Lib.vendor.FinalKey(d) }

// Chunks is how many chunks of page-locked memory there are for copies, and how many of them are
// not in use.
func (d *Device) Chunks() (made, idle int) { return d.staging.Chunks() }

// Sync waits for all streams.
func (d *Device) Sync() error { return d.Do("wait for the device", d.Lib.Synchronize) }

// Close waits, destroys what is left, and gives the device up. A device that was lost is given
// up all the same.
func (d *Device) Close() error {
	err := d.Sync()
	d.staging.Close()
	first := func(e error) {
		if err == nil {
			err = e
		}
	}
	first(d.closeGraphs())
	for _, t := range d.owned.take() {
		first(d.Do("close", t.destroy, t.handle))
	}
	first(d.Lib.vendor.Release(d))
	return err
}
