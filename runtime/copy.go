package runtime

import (
	"fmt"
	goruntime "runtime"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Copy copies src to dst, of the same length, after the work submitted so far to their
// devices, whose later work waits for it. Between devices the elements travel directly
// if the devices are of one kind and the driver has peer access, and else through the host.
func Copy[T any](dst, src Slice[T]) error {
	if dst.buf != nil && src.buf != nil && dst.Device() != src.Device() {
		if done, err := copyPeer(dst, src); done || err != nil {
			return err
		}
		host, err := src.Host()
		if err != nil {
			return err
		}
		return dst.CopyFrom(host)
	}
	return CopyAsync(dst.stream(), dst, src)
}

// copyPeer is Copy between devices of one kind. It reports false if the driver has no
// peer access.
func copyPeer[T any](dst, src Slice[T]) (bool, error) {
	to, from := dst.stream(), src.stream()
	if ok, err := src.ready("copy", from, dst.n); !ok {
		return err == nil, err
	}
	if ok, err := dst.ready("copy", to, src.n); !ok {
		return err == nil, err
	}
	if err := from.dev.captures.admit("copy", &touched{also: []use{src.read()}}); err != nil {
		return false, err
	}
	// The rings of two devices know nothing of each other: failures on the one are found
	// before its memory goes to the other.
	if err := from.dev.settle(); err != nil {
		return false, err
	}
	if err := src.buf.Err(); err != nil {
		return false, err
	}
	done := false
	err := to.noting("copy", dst.written(), use{}, func() (err error) {
		done, err = driver.CopyPeer(to.drv, from.drv, driver.Addr(dst.Addr()), driver.Addr(src.Addr()), dst.bytes())
		return err
	})
	goruntime.KeepAlive(src.buf)
	goruntime.KeepAlive(dst.buf)
	return done, err
}

// written is what a copy to the slice does to its buffer.
func (s Slice[T]) written() use {
	b := &s.buf.mem.block
	if s.bytes() == b.size {
		return use{b, Sets}
	}
	return use{b, Writes}
}

// read is what a copy from the slice does to its buffer.
func (s Slice[T]) read() use { return use{&s.buf.mem.block, Reads} }

// CopyAsync copies src to dst, of the same length and on the stream's device,
// in the order of the stream. The two must not overlap.
func CopyAsync[T any](st *Stream, dst, src Slice[T]) error {
	if ok, err := src.ready("copy", st, dst.n); !ok {
		return err
	}
	if ok, err := dst.ready("copy", st, src.n); !ok {
		return err
	}
	err := st.noting("copy", dst.written(), src.read(), func() error {
		return st.drv.Copy(driver.Addr(dst.Addr()), driver.Addr(src.Addr()), dst.bytes())
	})
	goruntime.KeepAlive(src.buf)
	goruntime.KeepAlive(dst.buf)
	return err
}

// Copy2DAsync copies a rectangle of rows × cols elements between two matrices
// that are stored by rows, in the order of the stream. A pitch is the number of
// elements from one row to the next.
func Copy2DAsync[T any](st *Stream, dst Slice[T], dstPitch int, src Slice[T], srcPitch int, rows, cols int) error {
	if rows <= 0 || cols <= 0 {
		return nil
	}
	view := func(s Slice[T], pitch int) (Slice[T], error) {
		need := (rows-1)*pitch + cols
		if pitch < cols || need > s.n {
			return s, st.dev.invalid("copy a rectangle", fmt.Sprintf("%d×%d elements at a pitch of %d do not fit in %d", rows, cols, pitch, s.n))
		}
		s = s.Slice(0, need)
		_, err := s.ready("copy a rectangle", st, need)
		return s, err
	}
	d, err := view(dst, dstPitch)
	if err != nil {
		return err
	}
	s, err := view(src, srcPitch)
	if err != nil {
		return err
	}
	var zero T
	size := int64(unsafe.Sizeof(zero))
	if size == 0 {
		return nil
	}
	err = st.noting("copy a rectangle", use{&d.buf.mem.block, Writes}, s.read(), func() error {
		return st.drv.Copy2D(driver.Addr(d.Addr()), int64(dstPitch)*size, driver.Addr(s.Addr()), int64(srcPitch)*size, int64(cols)*size, int64(rows))
	})
	goruntime.KeepAlive(src.buf)
	goruntime.KeepAlive(dst.buf)
	return err
}

// Pinned is host memory that a device reads and writes by itself, so that
// copies in both directions are asynchronous. It is scarce: the system cannot
// move it. It must be freed by Free; nothing else frees it, because the Go
// slice of it may outlive the Pinned.
type Pinned[T any] struct {
	dev  *Device
	mem  *hostMemory // nil if there are no bytes, or when it was freed
	data []T
}

// hostMemory is page-locked memory that graphs can hold.
type hostMemory struct {
	block
	dev *Device
	mem []byte
}

// release waits for the device and frees the memory.
func (m *hostMemory) release() error {
	m.dev.ring.forget(&m.block)
	err := m.dev.wait()
	if freeErr := m.dev.drv.FreeHost(m.mem); err == nil {
		err = freeErr
	}
	return m.dev.wrap(err)
}

// AllocPinned allocates n elements of host memory for copies of one device.
func AllocPinned[T any](dev *Device, n int) (*Pinned[T], error) {
	if err := dev.usable(); err != nil {
		return nil, err
	}
	size, err := elemSize[T]()
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, dev.invalid("allocate pinned memory", fmt.Sprintf("%d elements", n))
	}
	p := &Pinned[T]{dev: dev}
	if n == 0 || size == 0 {
		p.data = make([]T, n)
		return p, nil
	}
	mem, err := dev.drv.AllocHost(n * size)
	if err != nil {
		return nil, dev.wrap(err)
	}
	p.data = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n)
	p.mem = &hostMemory{dev: dev, mem: mem, block: block{addr: p.addr(), size: int64(len(mem)), host: true}}
	p.mem.owner = p.mem
	dev.blocks.add(&p.mem.block)
	return p, nil
}

// Data is the memory. It is valid until Free.
func (p *Pinned[T]) Data() []T { return p.data }

// Err is the error of the kernel that what was copied to the memory depends on, as
// [Buffer.Err] is: ask for it after the copy was waited for.
func (p *Pinned[T]) Err() error {
	if p.mem == nil {
		return nil
	}
	return p.mem.failure()
}

// Free waits for the device and frees the memory, the latter when no [Graph] can use
// it any more.
func (p *Pinned[T]) Free() error {
	mem := p.mem
	if mem == nil || p.dev.closed.Load() {
		return nil
	}
	err := p.dev.Sync()
	p.mem, p.data = nil, nil
	if !p.dev.blocks.free(&mem.block) {
		return err
	}
	if freeErr := mem.release(); err == nil {
		err = freeErr
	}
	return err
}

// addr is the memory's address, which host and device share.
func (p *Pinned[T]) addr() driver.Addr {
	return driver.Addr(uintptr(unsafe.Pointer(unsafe.SliceData(p.data))))
}

// CopyFromPinned copies all of p to the device in the order of the stream. Its
// memory must not be changed until that point of the stream is reached.
func (s Slice[T]) CopyFromPinned(st *Stream, p *Pinned[T]) error {
	if ok, err := s.readyPinned("copy from pinned memory", st, p); !ok {
		return err
	}
	err := st.noting("copy from pinned memory", s.written(), use{&p.mem.block, Reads}, func() error {
		return st.drv.Copy(driver.Addr(s.Addr()), p.addr(), s.bytes())
	})
	goruntime.KeepAlive(s.buf)
	return err
}

// CopyToPinned copies the elements to p in the order of the stream. They are
// there when that point of the stream is reached: [Stream.Sync], [Event.Sync].
func (s Slice[T]) CopyToPinned(st *Stream, p *Pinned[T]) error {
	if ok, err := s.readyPinned("copy to pinned memory", st, p); !ok {
		return err
	}
	err := st.noting("copy to pinned memory", use{&p.mem.block, Sets}, s.read(), func() error {
		return st.drv.Copy(p.addr(), driver.Addr(s.Addr()), s.bytes())
	})
	goruntime.KeepAlive(s.buf)
	return err
}

func (s Slice[T]) readyPinned(op string, st *Stream, p *Pinned[T]) (bool, error) {
	ok, err := s.ready(op, st, len(p.data))
	if ok && p.dev != st.dev {
		return false, st.dev.invalid(op, "the pinned memory is of "+p.dev.name)
	}
	return ok, err
}
