package vendorapi

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Stream is a CUstream, or a hipStream_t; handle 0 is the null stream.
type Stream struct {
	dev    *Device
	handle uintptr
}

// Device is the one that the stream is of.
func (s *Stream) Device() *Device { return s.dev }

// Handle is the library's.
func (s *Stream) Handle() uintptr { return s.handle }

// memoryCall is what the library reads and writes of an allocation. Operations on small
// tensors wait for little else, so it is pooled, and made in one crossing.
type memoryCall struct {
	dl.Pair
	addr uintptr
}

var memoryCalls = sync.Pool{New: func() any { return new(memoryCall) }}

// with calls a function of up to three arguments with the device current.
func (c *memoryCall) with(d *Device, fn, a0, a1, a2 uintptr) Result {
	c.Pair = d.Pair(fn, [11]uintptr{a0, a1, a2})
	return Result(uint32(c.Call()))
}

// Alloc allocates in stream order.
func (s *Stream) Alloc(size int64) (driver.Addr, error) {
	c := memoryCalls.Get().(*memoryCall)
	defer memoryCalls.Put(c)
	d := s.dev
	fn := d.Lib.Alloc
	if d.pool != 0 {
		fn = d.Lib.AllocAsync
	}
	// Without a pool there is no third argument.
	if r := c.with(d, fn, uintptr(unsafe.Pointer(&c.addr)), uintptr(size), s.handle); r != Success {
		return 0, d.Lib.Failure(fmt.Sprintf("allocate %d bytes", size), d.info.Name, r)
	}
	return driver.Addr(c.addr), d.made(nil, d.Lib.Free, &c.addr)
}

// Free frees in stream order. Without a pool the library itself waits for the
// whole device, which is later than asked for and as safe.
func (s *Stream) Free(a driver.Addr, _ int64) error {
	c := memoryCalls.Get().(*memoryCall)
	defer memoryCalls.Put(c)
	d := s.dev
	fn := d.Lib.Free
	d.forget(fn, uintptr(a))
	if d.pool != 0 {
		fn = d.Lib.FreeAsync
	}
	return d.Lib.Error("free", d.info.Name, c.with(d, fn, uintptr(a), s.handle, 0))
}

// Upload copies memory of Go to the device.
func (s *Stream) Upload(dst driver.Addr, src []byte) error {
	return s.dev.staging.Upload(s, dst, src)
}

// UploadFrom copies to the device what is read into page-locked memory.
func (s *Stream) UploadFrom(dst driver.Addr, size int64, read func(p []byte, at int64) error) error {
	return s.dev.staging.UploadFrom(s, dst, size, read)
}

// Download copies from the device to memory of Go.
func (s *Stream) Download(dst []byte, src driver.Addr) error {
	return s.dev.staging.Download(s, dst, src)
}

// FromHost copies memory of AllocHost to the device.
func (s *Stream) FromHost(dst driver.Addr, src uintptr, size int) error {
	return s.copy("copy to the device", s.dev.Lib.CopyToDevice, copyHostToDevice, uintptr(dst), src, uintptr(size))
}

// ToHost copies from the device to memory of AllocHost.
func (s *Stream) ToHost(dst uintptr, src driver.Addr, size int) error {
	return s.copy("copy to the host", s.dev.Lib.CopyToHost, copyDeviceToHost, dst, uintptr(src), uintptr(size))
}

// Copy leaves it to the library to find out from the addresses where they are.
func (s *Stream) Copy(dst, src driver.Addr, size int64) error {
	return s.copy("copy", s.dev.Lib.Copy, CopyByAddress, uintptr(dst), uintptr(src), uintptr(size))
}

// copy copies memory that is none of Go's.
func (s *Stream) copy(op string, fn, direction, dst, src, size uintptr) error {
	if s.dev.Lib.traits.Directed {
		return s.dev.Do(op, fn, dst, src, size, direction, s.handle)
	}
	return s.dev.Do(op, fn, dst, src, size, s.handle)
}

// Copy2D copies a rectangle.
func (s *Stream) Copy2D(dst driver.Addr, dstPitch int64, src driver.Addr, srcPitch int64, width, height int64) error {
	return s.dev.Lib.vendor.Copy2D(s, dst, dstPitch, src, srcPitch, width, height)
}

// Fill fills memory with a byte.
func (s *Stream) Fill(dst driver.Addr, value byte, size int64) error {
	return s.dev.Do("fill", s.dev.Lib.SetByte, uintptr(dst), uintptr(value), uintptr(size), s.handle)
}

// Sync waits for what was submitted.
func (s *Stream) Sync() error {
	return s.dev.Do("wait for the stream", s.dev.Lib.StreamSync, s.handle)
}

// Close lets the library finish the stream's work by itself.
func (s *Stream) Close() error {
	return s.dev.destroy("destroy a stream", s.dev.Lib.StreamDestroy, s.handle)
}
