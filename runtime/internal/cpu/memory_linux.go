package cpu

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is a page for which one entry of the processor's tables does in place of
// 512: fewer faults when memory is first touched, fewer misses later.
const hugePage = 2 << 20

// mapMemory asks for huge pages where they fit. They must lie at multiples of their
// size, so more is mapped at first than stays.
func mapMemory(size int) ([]byte, error) {
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

func unmapMemory(mem []byte) {
	_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(mem)), uintptr(len(mem)))
}
