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
	by    *[keptSizes][]driver.Addr // by size
}

const (
	keptGrain = 512      // of which sizes are multiples, as those of drivers
	keptPiece = 1 << 20  // bytes of a piece at most
	keptBytes = 64 << 20 // of all
	keptSizes = keptPiece/keptGrain + 1
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
	if k.by == nil {
		return 0, false
	}
	list := &k.by[size/keptGrain]
	last := len(*list) - 1
	if last < 0 {
		return 0, false
	}
	addr = (*list)[last]
	*list = (*list)[:last]
	k.bytes -= size
	return addr, true
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
		k.by = new([keptSizes][]driver.Addr)
	}
	list := &k.by[size/keptGrain]
	*list = append(*list, addr)
	k.bytes += size
	return true
}

// letGo gives what is kept to the driver, and keeps nothing any more if it is for good.
func (d *Device) letGo(forGood bool) error {
	k := &d.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	k.off = k.off || forGood
	if k.by == nil {
		return nil
	}
	var failure error
	for i, list := range k.by {
		for _, addr := range list {
			if err := d.def.drv.Free(addr, int64(i)*keptGrain); err != nil && failure == nil {
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
