package metal

import (
	"slices"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// block is an MTLBuffer, known by its address for kernels or, if it is host memory,
// for the host.
type block struct {
	address  uint64
	size     int64
	buffer   uintptr
	contents uintptr // where the host sees it; 0 for private memory
}

// memory is what was allocated. Its methods are called with the device's lock held.
type memory struct {
	blocks [2][]block // for kernels, for the host; in order of address
	freed  []freed
	used   int64
}

// freed is memory that operations up to a number may use, those of all streams.
type freed struct {
	block
	number uint64
}

func side(host bool) int {
	if host {
		return 1
	}
	return 0
}

// search finds the index of the block that has an address.
func (m *memory) search(address uint64, host bool) (int, bool) {
	return slices.BinarySearchFunc(m.blocks[side(host)], address, func(b block, a uint64) int {
		switch {
		case a < b.address:
			return 1
		case a >= b.address+uint64(b.size):
			return -1
		}
		return 0
	})
}

// find returns the block that holds an address.
func (m *memory) find(address uint64, host bool) *block {
	if i, ok := m.search(address, host); ok {
		return &m.blocks[side(host)][i]
	}
	return nil
}

// reclaim releases what was freed and is not used any more.
func (m *memory) reclaim(d *device) {
	finished := d.finished()
	m.freed = slices.DeleteFunc(m.freed, func(f freed) bool {
		if f.number > finished {
			return false
		}
		d.msg(f.buffer, d.lib.release, 0, 0, 0, 0)
		m.used -= f.size
		return true
	})
}

// close releases everything.
func (m *memory) close(d *device) {
	for _, list := range m.blocks {
		for _, b := range list {
			d.msg(b.buffer, d.lib.release, 0, 0, 0, 0)
		}
	}
	for _, f := range m.freed {
		d.msg(f.buffer, d.lib.release, 0, 0, 0, 0)
	}
	*m = memory{}
}

// allocate makes a buffer. If there is no room it waits for what was freed.
func (d *device) allocate(n int64, host bool) (block, error) {
	b, err := d.tryAllocate(n, host)
	if err == nil {
		return b, nil
	}
	d.waitAll()
	return d.tryAllocate(n, host)
}

func (d *device) tryAllocate(n int64, host bool) (block, error) {
	defer d.lib.pool()()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reap()
	m := &d.memory
	m.reclaim(d)
	n = max(n, 1)
	b, storage := block{size: n}, uintptr(storageShared)
	if !host && !d.unified {
		storage = storagePrivate
	}
	if m.used+n <= d.info.MemTotal {
		b.buffer = d.msg(d.handle, d.lib.newBuffer, uintptr(n), storage, 0, 0)
	}
	if b.buffer == 0 {
		return b, &driver.Error{Op: "allocate " + size(n), Device: d.info.Name, Kind: driver.ErrOutOfMemory, Text: "Metal makes no buffer of that size"}
	}
	if storage == storageShared {
		b.contents = d.msg(b.buffer, d.lib.contents, 0, 0, 0, 0)
	}
	b.address = uint64(d.msg(b.buffer, d.lib.gpuAddress, 0, 0, 0, 0))
	if host {
		b.address = uint64(b.contents)
	}
	i, _ := m.search(b.address, host)
	m.blocks[side(host)] = slices.Insert(m.blocks[side(host)], i, b)
	m.used += n
	return b, nil
}

// free gives a block back when the operations so far are done.
func (d *device) free(address uint64, host bool) error {
	defer d.lib.pool()()
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &d.memory
	i, ok := m.search(address, host)
	list := m.blocks[side(host)]
	if !ok || list[i].address != address {
		return d.invalid("free", "no memory begins at that address")
	}
	m.freed = append(m.freed, freed{list[i], d.next})
	m.blocks[side(host)] = slices.Delete(list, i, i+1)
	d.reap()
	m.reclaim(d)
	return nil
}

// resolve finds the buffer and the offset of an address, with the lock held.
func (d *device) resolve(op string, a driver.Addr, n int64) (*block, uintptr, error) {
	for _, host := range []bool{false, true} {
		if b := d.memory.find(uint64(a), host); b != nil && uint64(a)-b.address+uint64(n) <= uint64(b.size) {
			return b, uintptr(uint64(a) - b.address), nil
		}
	}
	return nil, 0, d.invalid(op, "the range is in no memory of the device")
}

// host returns where the host sees a range of memory, 0 if it does not.
func (d *device) host(op string, a driver.Addr, n int64) (uintptr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, at, err := d.resolve(op, a, n)
	if err != nil || b.contents == 0 {
		return 0, err
	}
	return b.contents + at, nil
}
