package cpu

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/hostcopy"
)

// stream is a name for errors: order is the queue's.
type stream struct {
	dev *device
}

// scope is whose errors a wait on this stream reports: the default stream
// waits for all streams, so it reports for all.
func (s *stream) scope() *stream {
	if s == s.dev.defaultStream {
		return nil
	}
	return s
}

// do runs work in its turn and waits for it.
func (s *stream) do(work func()) error {
	q := s.dev.queue
	if !q.atOnce(work) {
		q.wait(q.submit(s, false, work))
		return q.refuses()
	}
	return nil
}

// post runs work on so many bytes in its turn.
func (s *stream) post(size int64, work func()) error {
	if size > smallCopy || !s.dev.queue.atOnce(work) {
		s.dev.queue.submit(s, false, work)
	}
	return nil
}

// smallCopy is the size in bytes up to which a copy is as fast as waking a worker for it.
const smallCopy = 32 << 10

func (s *stream) Alloc(size int64) (driver.Addr, error) { return s.dev.alloc(size) }

// Free gives memory back. What is kept for reuse is free at once: whatever uses it next is behind
// all earlier kernels in the queue. A program that is ahead of the device so goes on with few
// blocks, which are in the processor's caches, and need not wait for pages. The system gets
// memory back in its turn, when no earlier kernel can use it.
func (s *stream) Free(a driver.Addr, size int64) error {
	if s.dev.memory.keep(uintptr(a), size) {
		return nil
	}
	if s.dev.queue.idle() {
		s.dev.memory.free(uintptr(a), size)
		return nil
	}
	s.dev.queue.submit(s, true, func() {
		s.dev.memory.free(uintptr(a), size)
	})
	return nil
}

func (s *stream) Upload(dst driver.Addr, src []byte) error {
	return s.do(func() {
		move(bytesAt(dst, int64(len(src))), src)
	})
}

// UploadFrom reads into the memory of the device itself.
func (s *stream) UploadFrom(dst driver.Addr, size int64, read func(p []byte, at int64) error) (err error) {
	refused := s.do(func() {
		err = hostcopy.Parts(size, hostcopy.LargeChunk, func(at int64, n int) error {
			return read(bytesAt(dst+driver.Addr(at), int64(n)), at)
		})
	})
	if err == nil {
		err = refused
	}
	return err
}

// Download copies to the host. A device for records has no results.
func (s *stream) Download(dst []byte, src driver.Addr) error {
	if s.dev.idle {
		return &driver.Error{Op: fmt.Sprintf("copy %d bytes to the host", len(dst)), Device: s.dev.info.Name, Kind: driver.ErrInvalid,
			Text: "the device runs no kernels, so there are no results: it is for recording which are used (KILN_RECORD)"}
	}
	return s.do(func() {
		move(dst, bytesAt(src, int64(len(dst))))
	})
}

// move copies memory of one length, unless it is the same: the program's own may be the
// device's.
func move(dst, src []byte) {
	if unsafe.SliceData(dst) != unsafe.SliceData(src) {
		copy(dst, src)
	}
}

func (s *stream) Copy(dst, src driver.Addr, size int64) error {
	return s.post(size, func() {
		copy(bytesAt(dst, size), bytesAt(src, size))
	})
}

func (s *stream) Copy2D(dst driver.Addr, dstPitch int64, src driver.Addr, srcPitch int64, width, height int64) error {
	return s.post(width*height, func() {
		for y := range height {
			to, from := dst+driver.Addr(y*dstPitch), src+driver.Addr(y*srcPitch)
			copy(bytesAt(to, width), bytesAt(from, width))
		}
	})
}

func (s *stream) Fill(dst driver.Addr, value byte, size int64) error {
	return s.post(size, func() {
		mem := bytesAt(dst, size)
		if value == 0 {
			clear(mem)
			return
		}
		for i := range mem {
			mem[i] = value
		}
	})
}

// Launch queues the kernel; it allocates nothing.
func (s *stream) Launch(f driver.Function, l *driver.Launch) error {
	fn, ok := f.(*function)
	if !ok {
		return &driver.Error{Op: "launch", Device: deviceName, Kind: driver.ErrInvalid,
			Text: "the kernel was loaded on another kind of device"}
	}
	s.dev.queue.launch(s, fn, l)
	return nil
}

// LaunchNow runs a short kernel, if nothing is before it.
func (s *stream) LaunchNow(f driver.Function, l *driver.Launch) (ran bool, err error) {
	fn, ok := f.(*function)
	if !ok {
		return false, nil // Launch says what is wrong
	}
	return s.dev.queue.launchNow(fn, l)
}

// Fail notes the failure of a kernel that LaunchNow ran.
func (s *stream) Fail(f driver.Failure) { s.dev.queue.fail(s, f) }

func (s *stream) Record(e driver.Event) error {
	ev, ok := e.(*event)
	if !ok {
		return &driver.Error{Op: "record event", Device: deviceName, Kind: driver.ErrInvalid,
			Text: "the event belongs to another kind of device"}
	}
	q := s.dev.queue
	at := new(time.Time)
	seq := q.submit(s, true, func() {
		*at = time.Now()
	})
	ev.set(seq, at)
	return nil
}

// Wait has nothing to do: what was recorded is ahead in the same queue.
func (s *stream) Wait(driver.Event) error { return nil }

func (s *stream) Sync() error {
	q := s.dev.queue
	q.wait(q.last())
	return q.takeErrors(s.scope())
}

// Close forgets the stream after its work; a failure that nobody asked for
// goes with it.
func (s *stream) Close() error {
	s.dev.queue.submit(s, true, func() {
		// There is none with work: errors of a stream with none left are dropped.
		_ = s.dev.queue.takeErrors(s)
	})
	return nil
}
