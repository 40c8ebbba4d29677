package rocm

import (
	"fmt"
	"math"
	goruntime "runtime"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// stream is a hipStream_t; handle 0 is the null stream.
type stream struct {
	dev    *device
	handle uintptr
}

func (s *stream) Alloc(size int64) (driver.Addr, error) {
	d, p := s.dev, new(uintptr)
	op := fmt.Sprintf("allocate %d bytes", size)
	var err error
	if d.pool != 0 {
		err = d.do(op, d.lib.hipMallocAsync, uintptr(unsafe.Pointer(p)), uintptr(size), s.handle)
	} else {
		err = d.do(op, d.lib.hipMalloc, uintptr(unsafe.Pointer(p)), uintptr(size))
	}
	return driver.Addr(*p), d.made(err, d.lib.hipFree, p)
}

// Free frees in stream order. Without a pool the runtime itself waits for the
// whole device, which is later than asked for and as safe.
func (s *stream) Free(a driver.Addr, _ int64) error {
	d := s.dev
	if d.pool == 0 {
		return d.destroy("free", d.lib.hipFree, uintptr(a))
	}
	d.owned.drop(d.lib.hipFree, uintptr(a))
	return d.do("free", d.lib.hipFreeAsync, uintptr(a), s.handle)
}

func (s *stream) Upload(dst driver.Addr, src []byte) error {
	return s.dev.staging.Upload(s, dst, src)
}

func (s *stream) Download(dst []byte, src driver.Addr) error {
	return s.dev.staging.Download(s, dst, src)
}

// FromHost copies memory of AllocHost to the device.
func (s *stream) FromHost(dst driver.Addr, src uintptr, size int) error {
	return s.dev.do("copy to the device", s.dev.lib.hipMemcpyAsync, uintptr(dst), src, uintptr(size), copyHostToDevice, s.handle)
}

// ToHost copies from the device to memory of AllocHost.
func (s *stream) ToHost(dst uintptr, src driver.Addr, size int) error {
	return s.dev.do("copy to the host", s.dev.lib.hipMemcpyAsync, dst, uintptr(src), uintptr(size), copyDeviceToHost, s.handle)
}

// Copy leaves it to the runtime to find out from the addresses where they are.
func (s *stream) Copy(dst, src driver.Addr, size int64) error {
	return s.dev.do("copy", s.dev.lib.hipMemcpyAsync, uintptr(dst), uintptr(src), uintptr(size), copyByAddress, s.handle)
}

func (s *stream) Copy2D(dst driver.Addr, dstPitch int64, src driver.Addr, srcPitch int64, width, height int64) error {
	return s.dev.do("copy a rectangle", s.dev.lib.hipMemcpy2DAsync, uintptr(dst), uintptr(dstPitch), uintptr(src), uintptr(srcPitch),
		uintptr(width), uintptr(height), copyByAddress, s.handle)
}

func (s *stream) Fill(dst driver.Addr, value byte, size int64) error {
	return s.dev.do("fill", s.dev.lib.hipMemsetD8Async, uintptr(dst), uintptr(value), uintptr(size), s.handle)
}

// extra is the list that passes a block of arguments, by
// HIP_LAUNCH_PARAM_BUFFER_POINTER.
type extra struct {
	list [5]uintptr
	size uintptr
}

func (e *extra) set(args []byte) {
	e.size = uintptr(len(args))
	p := unsafe.Pointer(unsafe.SliceData(args))
	if len(args) == 0 {
		p = unsafe.Pointer(&e.size) // anything but nil: a kernel without parameters reads nothing
	}
	e.list = [5]uintptr{launchBufferPointer, uintptr(p), launchBufferSize, uintptr(unsafe.Pointer(&e.size)), launchEnd}
}

// launchCall is all that the runtime reads of a launch, besides the arguments.
type launchCall struct {
	dl.Pair
	extra extra
}

// The scratch memory of a launch has room for it.
var _ [unsafe.Sizeof(driver.Launch{}.Scratch) - unsafe.Sizeof(launchCall{})]byte

// launchable checks a launch.
func (d *device) launchable(f driver.Function, l *driver.Launch) (*function, error) {
	fn, ok := f.(*function)
	if !ok || fn.dev != d {
		return nil, &driver.Error{Op: "launch", Device: d.info.Name, Kind: driver.ErrInvalid,
			Text: "the kernel was loaded on another device"}
	}
	if axis := tooWide(l); axis >= 0 {
		return nil, &driver.Error{Op: "launch " + fn.info.Name, Device: d.info.Name, Kind: driver.ErrInvalid,
			Text: fmt.Sprintf("%d blocks of %d threads in %c: an AMD GPU counts the threads of a grid in 32 bits", l.Grid[axis], l.Block[axis], "XYZ"[axis])}
	}
	return fn, nil
}

// Launch is the path that must not allocate: all that the runtime reads lies in l,
// which is on the heap because it is pooled.
func (s *stream) Launch(f driver.Function, l *driver.Launch) error {
	fn, err := s.dev.launchable(f, l)
	if err != nil {
		return err
	}
	if l.Cooperative {
		return s.launchCooperative(fn, l)
	}
	c := (*launchCall)(unsafe.Pointer(&l.Scratch))
	c.extra.set(l.Args)
	c.Pair = dl.Pair{First: s.dev.lib.hipSetDevice, Arg: s.dev.handle, Fn: s.dev.lib.hipModuleLaunchKernel, Args: [11]uintptr{
		fn.handle,
		uintptr(l.Grid[0]), uintptr(l.Grid[1]), uintptr(l.Grid[2]),
		uintptr(l.Block[0]), uintptr(l.Block[1]), uintptr(l.Block[2]),
		uintptr(l.Shared), s.handle, 0, uintptr(unsafe.Pointer(&c.extra)),
	}}
	return s.submit(fn, l, &c.Pair)
}

// submit makes a call that launches fn, whose parts are in l.
func (s *stream) submit(fn *function, l *driver.Launch, call *dl.Pair) error {
	r := result(uint32(call.Call()))
	goruntime.KeepAlive(l)
	if r != success {
		return s.dev.lib.failure("launch "+fn.info.Name, s.dev.info.Name, r)
	}
	return nil
}

// tooWide is the dimension in which a grid has 2³² threads or more: the packet
// that starts a kernel has 32 bits for each. It is -1 if there is none.
func tooWide(l *driver.Launch) int {
	for i := range l.Grid {
		if uint64(l.Grid[i])*uint64(l.Block[i]) > math.MaxUint32 {
			return i
		}
	}
	return -1
}

func (s *stream) Sync() error {
	return s.dev.do("wait for the stream", s.dev.lib.hipStreamSynchronize, s.handle)
}

// Close lets the runtime finish the stream's work by itself.
func (s *stream) Close() error {
	return s.dev.destroy("destroy a stream", s.dev.lib.hipStreamDestroy, s.handle)
}
