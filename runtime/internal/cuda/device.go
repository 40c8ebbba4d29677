package cuda

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

// device is a GPU with its primary context.
type device struct {
	lib           *library
	info          driver.Info
	handle        uintptr // CUdevice
	ctx           uintptr // CUcontext
	pool          uintptr // CUmemoryPool, 0 if there is none
	defaultStream *stream
	staging       *hostcopy.Staging
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
		return nil, &driver.Error{Op: fmt.Sprintf("open cuda:%d", ordinal), Kind: driver.ErrNoDevice,
			Text: fmt.Sprintf("number of devices that the driver sees: %d", n)}
	}
	d := &device{lib: l}
	if d.handle, d.info, err = l.device(ordinal); err != nil {
		return nil, err
	}
	ctx := new(uintptr)
	r := call(l.cuDevicePrimaryCtxRetain, uintptr(unsafe.Pointer(ctx)), d.handle)
	if err := l.error("create a context", d.info.Name, r); err != nil {
		return nil, err
	}
	d.ctx = *ctx
	d.defaultStream = &stream{dev: d}
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
func (d *device) openPool() error {
	if !d.info.MemoryPool {
		return nil
	}
	pool, threshold := new(uintptr), new(uint64)
	if err := d.do("find the memory pool", d.lib.cuDeviceGetDefaultMemPool, uintptr(unsafe.Pointer(pool)), d.handle); err != nil {
		return err
	}
	*threshold = math.MaxUint64
	if err := d.do("set up the memory pool", d.lib.cuMemPoolSetAttribute, *pool, poolReleaseThreshold, uintptr(unsafe.Pointer(threshold))); err != nil {
		return err
	}
	d.pool = *pool
	return nil
}

// do calls a function with the device's context current.
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
	if r := call(d.lib.cuCtxSetCurrent, d.ctx); r != success {
		return r
	}
	return call(fn, args...)
}

// Info is what the device is.
func (d *device) Info() driver.Info { return d.info }

// MemInfo counts what the pool keeps for reuse as free.
func (d *device) MemInfo() (free, total int64, err error) {
	v := new([2]uint64)
	err = d.do("ask for free memory", d.lib.cuMemGetInfo, uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1])))
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
	err := d.do("ask the memory pool", d.lib.cuMemPoolGetAttribute, d.pool, attr, uintptr(unsafe.Pointer(v)))
	return int64(*v), err
}

// Default is CUDA's legacy stream.
func (d *device) Default() driver.Stream { return d.defaultStream }

// NewStream makes a stream that is ordered against the legacy stream: flags 0.
func (d *device) NewStream() (driver.Stream, error) {
	h := new(uintptr)
	err := d.do("create a stream", d.lib.cuStreamCreate, uintptr(unsafe.Pointer(h)), 0)
	return &stream{dev: d, handle: *h}, err
}

// AllocHost returns page-locked memory.
func (d *device) AllocHost(size int) ([]byte, error) {
	p := new(uintptr)
	op := fmt.Sprintf("allocate %d bytes of page-locked memory", size)
	if err := d.do(op, d.lib.cuMemHostAlloc, uintptr(unsafe.Pointer(p)), uintptr(size), hostAllocPortable); err != nil {
		return nil, err
	}
	return dl.Bytes(*p, size), nil
}

// FreeHost frees memory of AllocHost.
func (d *device) FreeHost(mem []byte) error {
	return d.do("free page-locked memory", d.lib.cuMemFreeHost, uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
}

// Trim waits for pending frees and empties the pool.
func (d *device) Trim() error {
	if err := d.Sync(); err != nil || d.pool == 0 {
		return err
	}
	return d.do("empty the memory pool", d.lib.cuMemPoolTrimTo, d.pool, 0)
}

// FinalKey is what machine code depends on: the architecture, and the version
// of the compiler in the driver.
func (d *device) FinalKey() string {
	key := d.info.Arch + ", " + d.info.Driver
	if n, ok := optLevel(); ok {
		key += fmt.Sprintf(", optimised %d", n)
	}
	return key
}

// Sync waits for all streams.
func (d *device) Sync() error { return d.do("wait for the device", d.lib.cuCtxSynchronize) }

// Close waits, destroys what is left, and gives the context up. A context that was
// lost is given up all the same.
func (d *device) Close() error {
	err := d.Sync()
	d.staging.Close()
	if closeErr := d.graphs.Close(); err == nil {
		err = closeErr
	}
	r := call(d.lib.cuDevicePrimaryCtxRelease, d.handle)
	if err == nil {
		err = d.lib.error("close", d.info.Name, r)
	}
	return err
}
