package rocm

import (
	"fmt"
	"math"
	goruntime "runtime"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/hostcopy"
	"github.com/gokiln/kiln/runtime/internal/vendorgraph"
)

// device is a GPU.
type device struct {
	lib           *library
	info          driver.Info
	handle        uintptr // hipDevice_t: the ordinal
	target        string  // the architecture with its features
	pool          uintptr // hipMemPool_t, 0 if there is none
	defaultStream *stream
	staging       *hostcopy.Staging
	owned         owned
	graphs        vendorgraph.Set
}

// Open opens a GPU.
func (b *Backend) Open(ordinal int) (driver.Device, error) {
	l, err := b.open()
	if err != nil {
		return nil, err
	}
	n, err := l.count()
	if err != nil {
		return nil, err
	}
	if ordinal >= n {
		return nil, &driver.Error{Op: fmt.Sprintf("open rocm:%d", ordinal), Kind: driver.ErrNoDevice,
			Text: fmt.Sprintf("number of devices that the runtime sees: %d", n)}
	}
	d := &device{lib: l}
	if d.handle, d.info, d.target, err = l.device(ordinal); err != nil {
		return nil, err
	}
	d.defaultStream = &stream{dev: d}
	d.staging = hostcopy.New(d)
	if err := d.openPool(); err != nil {
		return nil, err
	}
	return d, nil
}

// openPool makes the pool keep what is freed: getting memory from the system
// for every allocation costs many times as much as reusing it.
func (d *device) openPool() error {
	if !d.info.MemoryPool {
		return nil
	}
	pool, threshold := new(uintptr), new(uint64)
	if err := d.do("find the memory pool", d.lib.hipDeviceGetDefaultMemPool, uintptr(unsafe.Pointer(pool)), d.handle); err != nil {
		return err
	}
	*threshold = math.MaxUint64
	if err := d.do("set up the memory pool", d.lib.hipMemPoolSetAttribute, *pool, poolReleaseThreshold, uintptr(unsafe.Pointer(threshold))); err != nil {
		return err
	}
	d.pool = *pool
	return nil
}

// do calls a function with the device current.
//
//go:uintptrescapes
func (d *device) do(op string, fn uintptr, args ...uintptr) error {
	return d.lib.error(op, d.info.Name, d.try(fn, args...))
}

// try is do for callers that look at the result themselves.
//
//go:uintptrescapes
func (d *device) try(fn uintptr, args ...uintptr) result {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	if r := call(d.lib.hipSetDevice, d.handle); r != success {
		return r
	}
	return call(fn, args...)
}

// made notes what a call has created, if it did, with what destroys it.
func (d *device) made(err error, destroy uintptr, handle *uintptr) error {
	if err == nil {
		d.owned.add(destroy, *handle)
	}
	return err
}

// destroy ends something that was noted.
func (d *device) destroy(op string, fn, handle uintptr) error {
	d.owned.drop(fn, handle)
	return d.do(op, fn, handle)
}

// Info is what the device is.
func (d *device) Info() driver.Info { return d.info }

// MemInfo counts what the pool keeps for reuse as free.
func (d *device) MemInfo() (free, total int64, err error) {
	v := new([2]uint64)
	err = d.do("ask for free memory", d.lib.hipMemGetInfo, uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1])))
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

func (d *device) poolNumber(attr uintptr) (int64, error) {
	v := new(uint64)
	err := d.do("ask the memory pool", d.lib.hipMemPoolGetAttribute, d.pool, attr, uintptr(unsafe.Pointer(v)))
	return int64(*v), err
}

// Default is HIP's null stream.
func (d *device) Default() driver.Stream { return d.defaultStream }

// NewStream makes a stream that is ordered against the null stream.
func (d *device) NewStream() (driver.Stream, error) {
	h := new(uintptr)
	err := d.do("create a stream", d.lib.hipStreamCreate, uintptr(unsafe.Pointer(h)), streamDefault)
	return &stream{dev: d, handle: *h}, d.made(err, d.lib.hipStreamDestroy, h)
}

// AllocHost returns page-locked memory.
func (d *device) AllocHost(size int) ([]byte, error) {
	p := new(uintptr)
	op := fmt.Sprintf("allocate %d bytes of page-locked memory", size)
	err := d.do(op, d.lib.hipHostMalloc, uintptr(unsafe.Pointer(p)), uintptr(size), hostMallocPortable)
	if d.made(err, d.lib.hipHostFree, p) != nil {
		return nil, err
	}
	return dl.Bytes(*p, size), nil
}

// FreeHost frees memory of AllocHost.
func (d *device) FreeHost(mem []byte) error {
	return d.destroy("free page-locked memory", d.lib.hipHostFree, uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
}

// Trim waits for pending frees and empties the pool.
func (d *device) Trim() error {
	if err := d.Sync(); err != nil || d.pool == 0 {
		return err
	}
	return d.do("empty the memory pool", d.lib.hipMemPoolTrimTo, d.pool, 0)
}

// FinalKey is what a code object depends on: the architecture with its features,
// and the version of the compiler. It is "" without a compiler.
func (d *device) FinalKey() string {
	if d.lib.rtc == nil {
		return ""
	}
	return d.target + ", " + d.info.Driver
}

// Sync waits for all streams.
func (d *device) Sync() error { return d.do("wait for the device", d.lib.hipDeviceSynchronize) }

// Close waits and destroys what was made on the device: nothing else would, as
// HIP's state of a device lives as long as the process.
func (d *device) Close() error {
	err := d.Sync()
	d.staging.Close()
	if closeErr := d.graphs.Close(); err == nil {
		err = closeErr
	}
	for _, t := range d.owned.take() {
		if r := d.try(t.destroy, t.handle); err == nil {
			err = d.lib.error("close", d.info.Name, r)
		}
	}
	return err
}
