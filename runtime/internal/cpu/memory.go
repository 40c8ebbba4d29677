package cpu

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

const (
	minClass  = 64       // smallest block and least alignment: a cache line, a vector register
	maxSmall  = 64 << 10 // blocks up to here are cut from slabs
	slabSize  = 1 << 20
	pageSize  = 4096
	cachePart = 4 // up to a quarter of the memory may be kept for reuse
)

// arena hands out memory outside the Go heap. Blocks come in size classes
// (powers of two up to maxSmall, then eighths of powers of two), so that a
// freed block fits the next request of about its size.
type arena struct {
	mu       sync.Mutex
	limit    int64
	used     int64 // given out, in class sizes
	cached   int64 // large blocks kept for reuse
	freeList map[int64][]uintptr
	mapped   map[uintptr][]byte // large blocks by address
	slabs    [][]byte
	closed   bool // there is no memory any more
}

func newArena(limit int64) *arena {
	return &arena{limit: limit, freeList: map[int64][]uintptr{}, mapped: map[uintptr][]byte{}}
}

// class is the size of the block that serves a request.
func class(size int64) int64 {
	switch {
	case size <= minClass:
		return minClass
	case size <= maxSmall:
		return 1 << bits.Len64(uint64(size-1))
	}
	step := int64(1) << (bits.Len64(uint64(size-1)) - 4)
	step = max(step, pageSize)
	return (size + step - 1) / step * step
}

var errTooMuch = errors.New("more than the memory of the machine")

// errGone is what allocating on a closed device returns.
var errGone = fmt.Errorf("the memory went with the device: %w", driver.ErrClosed)

func (a *arena) alloc(size int64) (uintptr, error) {
	if size < 0 || size > 1<<46 {
		return 0, errTooMuch
	}
	c := class(size)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.fits(c); err != nil {
		return 0, err
	}
	p, err := a.take(c)
	if err == nil {
		a.used += c
	}
	return p, err
}

// fits reports why so many bytes cannot be given out, with the lock held.
func (a *arena) fits(c int64) error {
	switch {
	case a.closed:
		return errGone
	case a.limit > 0 && a.used+c > a.limit:
		return fmt.Errorf("%d bytes are in use and %d is the limit: %w", a.used, a.limit, errTooMuch)
	}
	return nil
}

// reserve counts memory that lies elsewhere, and release counts it as free again.
func (a *arena) reserve(size int64) error {
	if size < 0 || size > 1<<46 {
		return errTooMuch
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.fits(size)
	if err == nil {
		a.used += size
	}
	return err
}

func (a *arena) release(size int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= size
}

func (a *arena) take(c int64) (uintptr, error) {
	if list := a.freeList[c]; len(list) > 0 {
		p := list[len(list)-1]
		a.freeList[c] = list[:len(list)-1]
		if c > maxSmall {
			a.cached -= c
		}
		return p, nil
	}
	if c > maxSmall {
		mem, err := mapMemory(int(c))
		if err != nil {
			return 0, err
		}
		p := addrOf(mem)
		a.mapped[p] = mem
		return p, nil
	}
	mem, err := mapMemory(slabSize)
	if err != nil {
		return 0, err
	}
	a.slabs = append(a.slabs, mem)
	base := addrOf(mem)
	for off := int64(slabSize) - c; off > 0; off -= c {
		a.freeList[c] = append(a.freeList[c], base+uintptr(off))
	}
	return base, nil
}

// keep frees a block for reuse, and reports whether it did: not if so much is kept that the system
// has to get it back.
func (a *arena) keep(p uintptr, size int64) bool {
	if p == 0 {
		return true
	}
	c := class(size)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return true
	}
	if c > maxSmall {
		if a.cached+c > a.limit/cachePart {
			return false
		}
		a.cached += c
	}
	a.used -= c
	a.freeList[c] = append(a.freeList[c], p)
	return true
}

// free frees a block, for reuse or to the system. Nothing uses it any more.
func (a *arena) free(p uintptr, size int64) {
	if a.keep(p, size) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.used -= class(size)
		a.unmap(p)
	}
}

func (a *arena) unmap(p uintptr) {
	if mem, ok := a.mapped[p]; ok {
		delete(a.mapped, p)
		unmapMemory(mem)
	}
}

// trim unmaps the large blocks that are kept for reuse.
func (a *arena) trim() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c, list := range a.freeList {
		if c <= maxSmall {
			continue
		}
		for _, p := range list {
			a.unmap(p)
		}
		delete(a.freeList, c)
	}
	a.cached = 0
}

// close unmaps everything, also what is not freed: nothing uses it any more.
func (a *arena) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, mem := range a.mapped {
		unmapMemory(mem)
	}
	for _, mem := range a.slabs {
		unmapMemory(mem)
	}
	a.mapped, a.slabs, a.freeList, a.used, a.cached = nil, nil, nil, 0, 0
}

// room is what can still be given out.
func (a *arena) room() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.limit-a.used, 0)
}

func addrOf(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }

// bytesAt views device memory. The address is not Go memory, so the conversion
// that vet distrusts goes through a pointer to it.
func bytesAt(a driver.Addr, size int64) []byte {
	if size == 0 {
		return nil
	}
	p := uintptr(a)
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), size)
}
