package metal

import (
	"encoding/binary"
	"fmt"
	goruntime "runtime"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/hostcopy"
)

func (s *stream) Alloc(n int64) (driver.Addr, error) {
	b, err := s.dev.allocate(n, false)
	return driver.Addr(b.address), err
}

func (s *stream) Free(a driver.Addr, _ int64) error { return s.dev.free(uint64(a), false) }

// Upload waits for what comes before, and writes to memory that is shared; private
// memory is written by blits from chunks of shared memory.
func (s *stream) Upload(dst driver.Addr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	p, err := s.dev.host("copy to the device", dst, int64(len(src)))
	switch {
	case err != nil:
		return err
	case p == 0:
		return s.dev.staging.Upload(s, dst, src)
	}
	s.settle()
	copy(dl.Bytes(p, len(src)), src)
	return nil
}

// UploadFrom waits for what comes before, and reads into memory that is shared; private memory is
// written as by Upload.
func (s *stream) UploadFrom(dst driver.Addr, size int64, read func(p []byte, at int64) error) error {
	if size == 0 {
		return nil
	}
	p, err := s.dev.host("copy to the device", dst, size)
	switch {
	case err != nil:
		return err
	case p == 0:
		return s.dev.staging.UploadFrom(s, dst, size, read)
	}
	s.settle()
	mem := dl.Bytes(p, int(size))
	return hostcopy.Parts(size, hostcopy.LargeChunk, func(at int64, n int) error {
		return read(mem[at:at+int64(n)], at)
	})
}

// Download waits for what was submitted, and reads.
func (s *stream) Download(dst []byte, src driver.Addr) error {
	if len(dst) == 0 {
		return nil
	}
	p, err := s.dev.host("copy to the host", src, int64(len(dst)))
	switch {
	case err != nil:
		return err
	case p == 0:
		return s.dev.staging.Download(s, dst, src)
	}
	s.settle()
	copy(dst, dl.Bytes(p, len(dst)))
	return nil
}

// FromHost and ToHost are copies from and to shared memory, for package hostcopy.
func (s *stream) FromHost(dst driver.Addr, src uintptr, n int) error {
	return s.Copy(dst, driver.Addr(src), int64(n))
}

func (s *stream) ToHost(dst uintptr, src driver.Addr, n int) error {
	return s.Copy(driver.Addr(dst), src, int64(n))
}

func (s *stream) Copy(dst, src driver.Addr, n int64) error {
	return s.Copy2D(dst, n, src, n, n, 1)
}

// Copy2D is a blit for each row.
func (s *stream) Copy2D(dst driver.Addr, dstPitch int64, src driver.Addr, srcPitch int64, width, height int64) error {
	const op = "copy"
	if width == 0 || height == 0 {
		return nil
	}
	return s.blit(op, func(encoder uintptr) error {
		d := s.dev
		from, fromAt, err := d.resolve(op, src, (height-1)*srcPitch+width)
		if err != nil {
			return err
		}
		to, toAt, err := d.resolve(op, dst, (height-1)*dstPitch+width)
		if err != nil {
			return err
		}
		for row := range uintptr(height) {
			d.words = driver.Scratch{encoder, d.lib.copy, from.buffer, fromAt + row*uintptr(srcPitch), to.buffer, toAt + row*uintptr(dstPitch), uintptr(width)}
			dl.Call(d.lib.msgSend, d.words[:7])
		}
		return nil
	})
}

func (s *stream) Fill(dst driver.Addr, value byte, n int64) error {
	const op = "fill"
	if n == 0 {
		return nil
	}
	return s.blit(op, func(encoder uintptr) error {
		b, at, err := s.dev.resolve(op, dst, n)
		if err == nil { // a range is two words
			s.dev.msg(encoder, s.dev.lib.fill, b.buffer, at, uintptr(n), uintptr(value))
		}
		return err
	})
}

// blit submits what encode writes to an encoder of copies.
func (s *stream) blit(op string, encode func(encoder uintptr) error) error {
	d := s.dev
	defer d.lib.pool()()
	s.enter()
	defer d.mu.Unlock()
	cb, err := s.begin(op)
	if err != nil {
		return err
	}
	encoder := d.msg(cb, d.lib.blit, 0, 0, 0, 0)
	err = encode(encoder)
	d.msg(encoder, d.lib.endEncoding, 0, 0, 0, 0)
	if err != nil {
		d.msg(cb, d.lib.release, 0, 0, 0, 0)
		return err
	}
	s.commit(cb, operation{seq: driver.Unknown})
	return nil
}

// Launch submits a kernel. It is the path that must not allocate.
func (s *stream) Launch(f driver.Function, l *driver.Launch) error {
	d := s.dev
	fn, ok := f.(*function)
	if !ok || fn.dev != d {
		return d.invalid("launch", "the kernel was loaded on another device")
	}
	if text := fn.shared(l); text != "" {
		return d.invalid("launch "+fn.info.Name, text)
	}
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	s.enter()
	defer d.mu.Unlock()
	token := d.call(d.lib.push, 0)
	err := s.launch(fn, l)
	d.call(d.lib.pop, token)
	goruntime.KeepAlive(l)
	return err
}

// threadgroupLength is the length that Metal takes for n bytes: a multiple of 16, and not 0.
func threadgroupLength(n int) int { return max((n+15)&^15, 16) }

// shared says what is wrong with the shared memory that a launch asks for, "" if nothing is.
func (f *function) shared(l *driver.Launch) string {
	switch n, most := threadgroupLength(l.Shared), f.dev.info.SharedPerBlock; {
	case !f.dynamic && l.Shared > 0:
		return "the kernel declares its threadgroup memory; a launch cannot add to it"
	case f.dynamic && n > most-f.info.Shared:
		return fmt.Sprintf("%d bytes of dynamic shared memory, %d with what Metal adds, and %d that the kernel has; a block can have %d", l.Shared, n, f.info.Shared, most)
	}
	return ""
}

// call calls a function of one argument, with mu held.
func (d *device) call(fn, arg uintptr) uintptr {
	d.words[0] = arg
	return dl.Call(fn, d.words[:1])
}

func (s *stream) launch(fn *function, l *driver.Launch) error {
	d := s.dev
	cb, err := s.begin("launch")
	if err != nil {
		return err
	}
	encoder := d.msg(cb, d.lib.compute, 0, 0, 0, 0)
	d.msg(encoder, d.lib.setPipeline, fn.handle, 0, 0, 0)
	for len(l.Args)%8 != 0 { // the struct in the kernel is a whole number of words
		l.Args = append(l.Args, 0)
	}
	if len(l.Args) > 0 {
		d.msg(encoder, d.lib.setBytes, uintptr(unsafe.Pointer(unsafe.SliceData(l.Args))), uintptr(len(l.Args)), 0, 0)
	}
	if fn.dynamic {
		d.msg(encoder, d.lib.setShared, uintptr(threadgroupLength(l.Shared)), 0, 0, 0)
	}
	d.reside(encoder, l.Args)
	dl.Call(d.lib.msgSend, dispatchWords(&l.Scratch, encoder, d.lib.dispatch, l.Grid, l.Block))
	d.msg(encoder, d.lib.endEncoding, 0, 0, 0, 0)
	s.commit(cb, operation{kernel: fn.info.Name, seq: l.Seq, op: l.Op})
	return nil
}

// reside makes the buffers resident that a block of arguments points to: every aligned
// word that is an address in one. A number that looks like one does no harm.
func (d *device) reside(encoder uintptr, args []byte) {
	var last uintptr
	for at := 0; at+8 <= len(args); at += 8 {
		b := d.memory.find(binary.LittleEndian.Uint64(args[at:]), false)
		if b != nil && b.buffer != last {
			last = b.buffer
			d.msg(encoder, d.lib.useResource, b.buffer, usageReadWrite, 0, 0)
		}
	}
}
