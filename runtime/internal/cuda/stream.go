package cuda

import (
	"fmt"
	goruntime "runtime"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// stream is a CUstream; handle 0 is the legacy stream.
type stream struct {
	dev    *device
	handle uintptr
}

// memoryCall is what the driver reads and writes of an allocation. Operations on small
// tensors wait for little else, so it is pooled, and made in one crossing.
type memoryCall struct {
	dl.Pair
	addr uint64
}

var memoryCalls = sync.Pool{New: func() any { return new(memoryCall) }}

// with calls a function of up to three arguments with the device's context current.
func (c *memoryCall) with(d *device, fn, a0, a1, a2 uintptr) result {
	c.Pair = dl.Pair{First: d.lib.cuCtxSetCurrent, Arg: d.ctx, Fn: fn}
	c.Args[0], c.Args[1], c.Args[2] = a0, a1, a2
	return result(uint32(c.Call()))
}

func (s *stream) Alloc(size int64) (driver.Addr, error) {
	c := memoryCalls.Get().(*memoryCall)
	defer memoryCalls.Put(c)
	fn := s.dev.lib.cuMemAlloc
	if s.dev.pool != 0 {
		fn = s.dev.lib.cuMemAllocAsync
	}
	// Without a pool there is no third argument.
	if r := c.with(s.dev, fn, uintptr(unsafe.Pointer(&c.addr)), uintptr(size), s.handle); r != success {
		return 0, s.dev.lib.failure(fmt.Sprintf("allocate %d bytes", size), s.dev.info.Name, r)
	}
	return driver.Addr(c.addr), nil
}

// Free frees in stream order. Without a pool the driver itself waits for the
// whole device, which is later than asked for and as safe.
func (s *stream) Free(a driver.Addr, _ int64) error {
	c := memoryCalls.Get().(*memoryCall)
	defer memoryCalls.Put(c)
	fn := s.dev.lib.cuMemFree
	if s.dev.pool != 0 {
		fn = s.dev.lib.cuMemFreeAsync
	}
	return s.dev.lib.error("free", s.dev.info.Name, c.with(s.dev, fn, uintptr(a), s.handle, 0))
}

func (s *stream) Upload(dst driver.Addr, src []byte) error {
	return s.dev.staging.Upload(s, dst, src)
}

func (s *stream) Download(dst []byte, src driver.Addr) error {
	return s.dev.staging.Download(s, dst, src)
}

// FromHost copies memory of AllocHost to the device.
func (s *stream) FromHost(dst driver.Addr, src uintptr, size int) error {
	return s.dev.do("copy to the device", s.dev.lib.cuMemcpyHtoDAsync, uintptr(dst), src, uintptr(size), s.handle)
}

// ToHost copies from the device to memory of AllocHost.
func (s *stream) ToHost(dst uintptr, src driver.Addr, size int) error {
	return s.dev.do("copy to the host", s.dev.lib.cuMemcpyDtoHAsync, dst, uintptr(src), uintptr(size), s.handle)
}

// Copy leaves it to the driver to find out from the addresses where they are.
func (s *stream) Copy(dst, src driver.Addr, size int64) error {
	return s.dev.do("copy", s.dev.lib.cuMemcpyAsync, uintptr(dst), uintptr(src), uintptr(size), s.handle)
}

// copy2D is CUDA_MEMCPY2D.
type copy2D struct {
	srcX, srcY uint64
	srcType    uint64 // CUmemorytype and padding
	srcHost    uint64
	srcDevice  uint64
	srcArray   uint64
	srcPitch   uint64
	dstX, dstY uint64
	dstType    uint64
	dstHost    uint64
	dstDevice  uint64
	dstArray   uint64
	dstPitch   uint64
	width      uint64 // bytes
	height     uint64
}

func (s *stream) Copy2D(dst driver.Addr, dstPitch int64, src driver.Addr, srcPitch int64, width, height int64) error {
	c := &copy2D{
		srcType: memoryTypeUnified, srcDevice: uint64(src), srcPitch: uint64(srcPitch),
		dstType: memoryTypeUnified, dstDevice: uint64(dst), dstPitch: uint64(dstPitch),
		width: uint64(width), height: uint64(height),
	}
	return s.dev.do("copy a rectangle", s.dev.lib.cuMemcpy2DAsync, uintptr(unsafe.Pointer(c)), s.handle)
}

func (s *stream) Fill(dst driver.Addr, value byte, size int64) error {
	return s.dev.do("fill", s.dev.lib.cuMemsetD8Async, uintptr(dst), uintptr(value), uintptr(size), s.handle)
}

// extra is the list that passes a block of arguments, by
// CU_LAUNCH_PARAM_BUFFER_POINTER.
type extra struct {
	list [5]uintptr
	size uintptr
}

func (e *extra) set(args []byte) {
	e.list = [5]uintptr{launchBufferPointer, uintptr(unsafe.Pointer(unsafe.SliceData(args))), launchBufferSize, uintptr(unsafe.Pointer(&e.size)), launchEnd}
	e.size = uintptr(len(args))
}

// launchCall is all that the driver reads of a launch, besides the arguments.
type launchCall struct {
	dl.Pair
	extra extra
}

// The scratch memory of a launch has room for it.
var _ [unsafe.Sizeof(driver.Launch{}.Scratch) - unsafe.Sizeof(launchCall{})]byte

// launchable checks a launch and gets the kernel ready for it.
func (d *device) launchable(f driver.Function, l *driver.Launch) (*function, error) {
	fn, ok := f.(*function)
	if !ok || fn.dev != d {
		return nil, &driver.Error{Op: "launch", Device: d.info.Name, Kind: driver.ErrInvalid,
			Text: "the kernel was loaded on another device"}
	}
	if int64(l.Shared) > fn.maxDynamic.Load() {
		if err := fn.allowDynamic(l.Shared); err != nil {
			return nil, err
		}
	}
	if len(l.Args)%4 != 0 { // the driver copies whole words and would drop the rest in silence
		return nil, &driver.Error{Op: "launch " + fn.info.Name, Device: d.info.Name, Kind: driver.ErrInvalid,
			Text: "the argument block is not a whole number of 4-byte words: pad the kernel's parameters"}
	}
	return fn, nil
}

// unpadded returns an argument block without the word that pads it to a multiple of 8 bytes, if
// the kernel does not declare it, as text of other compilers: the driver refuses a block that is
// longer than the parameters.
func (f *function) unpadded(args []byte) []byte {
	if n := f.argBytes; n > 0 && len(args)-n == 4 {
		return args[:n]
	}
	return args
}

// Launch is the path that must not allocate: all that the driver reads lies in l,
// which is on the heap because it is pooled.
func (s *stream) Launch(f driver.Function, l *driver.Launch) error {
	fn, err := s.dev.launchable(f, l)
	if err != nil {
		return err
	}
	switch {
	case l.Cooperative:
		return s.launchCooperative(fn, l)
	case l.Overlaps && s.dev.lib.cuLaunchKernelEx != 0:
		return s.launchAs(programmaticSerialization, fn, l)
	}
	c := (*launchCall)(unsafe.Pointer(&l.Scratch))
	c.extra.set(fn.unpadded(l.Args))
	c.Pair = dl.Pair{First: s.dev.lib.cuCtxSetCurrent, Arg: s.dev.ctx, Fn: s.dev.lib.cuLaunchKernel, Args: [11]uintptr{
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

func (s *stream) Sync() error {
	return s.dev.do("wait for the stream", s.dev.lib.cuStreamSynchronize, s.handle)
}

// Close lets the driver finish the stream's work by itself.
func (s *stream) Close() error {
	return s.dev.do("destroy a stream", s.dev.lib.cuStreamDestroy, s.handle)
}
