package runtime

import (
	"fmt"
	goruntime "runtime"
	"sync/atomic"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Buffer is a piece of device memory. Its content is undefined at first.
type Buffer struct {
	mem     *allocation
	turn    uint32 // of the memory: see [recording.spare]
	changes changes
}

// allocation is the part of a Buffer that outlives it: what is on the device's list.
type allocation struct {
	block
	dev   *Device
	own   []byte     // memory of the host that is used as it is, nil of the device's
	rec   *recording // in which it was allocated, or nil
	freed atomic.Bool
	turn  atomic.Uint32 // how often it was used again
}

// Alloc allocates memory in stream order: work of this stream submitted from
// now on may use it, other streams after they waited for this one. Memory
// allocated on the default stream may be used on every stream.
//
// When the device has no memory left, buffers that the program has dropped are
// collected first; only then the error is [ErrOutOfMemory].
func (s *Stream) Alloc(size int) (*Buffer, error) {
	d := s.dev
	if err := s.usable("allocate"); err != nil {
		return nil, err
	}
	if size < 0 {
		return nil, d.invalid("allocate", fmt.Sprintf("%d bytes", size))
	}
	if m := s.rec.spare(int64(size)); m != nil {
		return m.handle(), nil
	}
	m := &allocation{dev: d, rec: s.rec, block: block{size: int64(size)}}
	m.owner = m
	if size > 0 {
		addr, err := d.allocate(s.drv, int64(size))
		if err != nil {
			return nil, err
		}
		m.addr = addr
		d.blocks.add(&m.block)
	}
	return m.buffer(), nil
}

// buffer returns the Buffer of an allocation, of which there is one.
func (m *allocation) buffer() *Buffer {
	m.dev.buffers.Add(1)
	return m.handle()
}

// handle returns a Buffer of an allocation that is counted.
func (m *allocation) handle() *Buffer {
	b := &Buffer{mem: m, turn: m.turn.Load()}
	// A finalizer, as nothing that it holds leads back to the Buffer: a cleanup would make
	// garbage for each.
	goruntime.SetFinalizer(b, (*Buffer).collected)
	return b
}

// collected is called by Go when the Buffer is no longer reachable.
func (b *Buffer) collected() { b.mem.drop() }

// keep undoes that Go reports it.
func (b *Buffer) keep() { goruntime.SetFinalizer(b, nil) }

// drop frees an allocation whose Buffer was collected.
func (m *allocation) drop() {
	m.dev.cleanUp(func() error {
		m.dev.dropped.Add(1)
		return m.free(m.dev.def.drv)
	})
}

// free frees the memory behind the work of a stream, or has the last graph do so
// that holds it.
func (m *allocation) free(s driver.Stream) error {
	if m.freed.Swap(true) {
		return nil
	}
	if !m.dev.blocks.free(&m.block) {
		m.rec.putBack(m)
		return nil
	}
	return m.releaseOn(s)
}

// release frees the memory behind the work of all streams.
func (m *allocation) release() error { return m.releaseOn(m.dev.def.drv) }

func (m *allocation) releaseOn(s driver.Stream) error {
	m.dev.ring.forget(&m.block)
	var err error
	switch {
	case m.own != nil:
		m.dev.drv.(driver.Adopter).Drop(m.own)
		m.own = nil // the ring may hold the allocation for some time
	case m.size > 0:
		err = m.dev.takeBack(s, m.addr, m.size)
	}
	// Counted last: who waits for the count to drop finds the memory freed.
	m.dev.buffers.Add(-1)
	m.dev.bytes.Add(-m.size)
	return err
}

// Free gives the memory back when the work submitted to the device so far is
// done, and when no [Graph] can use it any more. Freeing it again does nothing.
func (b *Buffer) Free() error { return b.FreeOn(b.mem.dev.def) }

// FreeOn gives the memory back when the work submitted to the stream so far is
// done. The caller makes sure that no other stream uses it.
func (b *Buffer) FreeOn(s *Stream) error {
	b.keep()
	if b.Freed() || b.mem.dev.closed.Load() || b.mem.dev.hung.Load() {
		return nil
	}
	if s.dev != b.mem.dev {
		return s.dev.invalid("free", "the buffer is on "+b.mem.dev.name)
	}
	return s.dev.wrap(b.mem.free(s.drv))
}

// Size is the size in bytes.
func (b *Buffer) Size() int { return int(b.mem.size) }

// Addr is the buffer's address as kernels see it; 0 for a buffer of size 0. It
// does not keep the buffer alive: hold on to the Buffer until the work that
// uses the address is submitted.
func (b *Buffer) Addr() uint64 { return uint64(b.mem.addr) }

// Device is where the buffer lives.
func (b *Buffer) Device() *Device { return b.mem.dev }

// Freed reports whether Free was called.
func (b *Buffer) Freed() bool { return b.mem.freed.Load() || b.turn != b.mem.turn.Load() }

// usable reports why the buffer cannot be used, nil if it can.
func (b *Buffer) usable() error {
	d := b.mem.dev
	if err := d.usable(); err != nil {
		return err
	}
	if b.Freed() {
		return &driver.Error{Op: "use a buffer", Device: d.name, Kind: ErrFreed}
	}
	return nil
}
