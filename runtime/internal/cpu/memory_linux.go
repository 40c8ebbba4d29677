package cpu

import (
	goruntime "runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is a page for which one entry of the processor's tables does in place of
// 512: fewer faults when memory is first touched, fewer misses later.
const hugePage = 2 << 20

// Blocks of a middle size are cut from regions without gaps, so that huge
// pages serve them from end to end: with a mapping each, what goes beyond a multiple of
// a huge page would be touched in small pages, at several times the cost.
const (
	minRegional = 256 << 10
	maxRegional = 8 << 20
	regionSize  = 32 << 20
)

// region is what is left of the region that blocks are cut from.
var region struct {
	sync.Mutex
	rest []byte
}

// mapMemory returns memory of a size that is a multiple of pages.
func mapMemory(size int) ([]byte, error) {
	if size < minRegional || size > maxRegional || size%pageSize != 0 {
		return mapOwn(size)
	}
	region.Lock()
	defer region.Unlock()
	if len(region.rest) < size {
		mem, err := mapOwn(regionSize)
		if err != nil {
			return nil, err
		}
		if len(region.rest) > 0 {
			unmapMemory(region.rest)
		}
		region.rest = mem
	}
	mem := region.rest[:size:size]
	region.rest = region.rest[size:]
	touch(mem)
	return mem, nil
}

// touch has the system find pages for memory that is soon to be written, on another
// processor while this one goes on: to clear one takes longer than most kernels take to
// fill it. It changes nothing in the memory, so nothing either in what is at the same
// addresses by then if the memory was given back meanwhile; memory of Go is held. Systems
// that cannot do it find pages when they are needed.
func touch(mem []byte) {
	if goruntime.GOMAXPROCS(0) == 1 {
		return
	}
	head := -int(addrOf(mem)) & (pageSize - 1)
	if tail := (len(mem) - head) &^ (pageSize - 1); tail > 0 {
		go func() { _ = unix.Madvise(mem[head:head+tail], unix.MADV_POPULATE_WRITE) }()
	}
}

// mapOwn returns a mapping of its own. It asks for huge pages where they fit. They must
// lie at multiples of their size, so more is mapped at first than stays.
func mapOwn(size int) ([]byte, error) {
	extra := 0
	if size >= hugePage {
		extra = hugePage
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size+extra), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	mem := unsafe.Slice((*byte)(p), size+extra)
	if extra == 0 {
		return mem, nil
	}
	head := -int(addrOf(mem)) & (hugePage - 1)
	if head > 0 {
		unmapMemory(mem[:head])
	}
	if tail := mem[head+size:]; len(tail) > 0 {
		unmapMemory(tail)
	}
	mem = mem[head : head+size : head+size]
	_ = unix.Madvise(mem, unix.MADV_HUGEPAGE) // a kernel without them maps small ones
	return mem, nil
}

// unmapMemory gives back what mapMemory returned; of a region a part may go.
func unmapMemory(mem []byte) {
	_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(mem)), uintptr(len(mem)))
}
