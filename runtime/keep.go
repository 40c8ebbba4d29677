package runtime

import (
	"sync"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// kept is memory that was freed and is given out again without asking the driver, whose
// two calls cost more than the kernel of a small operation. It is for small pieces of
// devices that free in stream order, as long as these have no stream but the default one:
// the work that used a piece is then before all that will.
type kept struct {
	mu    sync.Mutex
	off   bool // for good: there are other streams, which the default one does not wait for
	bytes int64
	by    map[int64][]driver.Addr // by size
}

const (
	keptGrain = 512      // of which sizes are multiples, as those of drivers
	keptPiece = 1 << 20  // bytes of a piece at most
	keptBytes = 64 << 20 // of all
)

// piece is what is asked of the driver for so many bytes, and whether it is kept when it
// is freed.
func (d *Device) piece(size int64) (int64, bool) {
	if !d.info.MemoryPool || size > keptPiece {
		return size, false
	}
	return (size + keptGrain - 1) / keptGrain * keptGrain, true
}

// give allocates memory, from what is kept if it can.
func (d *Device) give(s driver.Stream, size int64) (driver.Addr, error) {
	size, small := d.piece(size)
	if small && s == d.def.drv {
		if addr, ok := d.reuse(size); ok {
			return addr, nil
		}
	}
	return s.Alloc(size)
}

// takeBack frees memory, or keeps it.
func (d *Device) takeBack(s driver.Stream, addr driver.Addr, size int64) error {
	size, small := d.piece(size)
	if small && s == d.def.drv && d.keep(addr, size) {
		return nil
	}
	return s.Free(addr, size)
}

// reuse returns a kept piece, if there is one.
func (d *Device) reuse(size int64) (addr driver.Addr, ok bool) {
	k := &d.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	list := k.by[size]
	if len(list) == 0 {
		return 0, false
	}
	k.by[size] = list[:len(list)-1]
	k.bytes -= size
	return list[len(list)-1], true
}

// keep keeps a piece. It reports false if it is for the driver.
func (d *Device) keep(addr driver.Addr, size int64) bool {
	k := &d.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.off || k.bytes+size > keptBytes {
		return false
	}
	if k.by == nil {
		k.by = map[int64][]driver.Addr{}
	}
	k.by[size] = append(k.by[size], addr)
	k.bytes += size
	return true
}

// letGo gives what is kept to the driver, and keeps nothing any more if it is for good.
func (d *Device) letGo(forGood bool) error {
	k := &d.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	k.off = k.off || forGood
	var failure error
	for size, list := range k.by {
		for _, addr := range list {
			if err := d.def.drv.Free(addr, size); err != nil && failure == nil {
				failure = err
			}
		}
	}
	k.by, k.bytes = nil, 0
	return failure
}

// keptNow is how many bytes are kept.
func (d *Device) keptNow() int64 {
	d.kept.mu.Lock()
	defer d.kept.mu.Unlock()
	return d.kept.bytes
}
