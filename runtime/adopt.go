package runtime

import (
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// FromOwned is [From] of memory that the program gives up: it must not be read or written
// afterwards, since kernels of a device that has the host's memory use it as it is. Others
// copy it. T has no pointers.
func FromOwned[T any](dev *Device, host []T) (Slice[T], error) {
	s, ok, err := adopt(dev, host, false)
	if !ok && err == nil {
		return From(dev, host)
	}
	return s, err
}

// Lend is [From] of memory that the program lends: until the slice is freed, and the work
// before that is done, the program must not write it, nor read it if kernels write it, nor
// lend it again. A device that has the host's memory uses it as it is, others copy it. T has
// no pointers.
func Lend[T any](dev *Device, host []T) (Slice[T], error) { return FromOwned(dev, host) }

// LendResult is [Lend] of memory for results: what it holds does not matter to kernels.
// They are read by [Slice.CopyTo] the same memory, which copies nothing where kernels have
// written it already.
func LendResult[T any](dev *Device, host []T) (Slice[T], error) {
	s, ok, err := adopt(dev, host, true)
	if !ok && err == nil {
		return Alloc[T](dev, len(host))
	}
	return s, err
}

// adopted is what addresses of memory from Go are multiples of when kernels use it as it
// is: a view of them may have larger elements.
const adopted = 16

// adopt returns a slice that is memory of the host. It reports false if there can be none.
func adopt[T any](dev *Device, host []T, result bool) (Slice[T], bool, error) {
	if err := dev.usable(); err != nil {
		return Slice[T]{}, false, err
	}
	size, err := elemSize[T]()
	if err != nil {
		return Slice[T]{}, false, err
	}
	a, ok := dev.drv.(driver.Adopter)
	if !ok || size == 0 || len(host) == 0 || dev.MemoryLimit() > 0 { // a limit counts what is allocated
		return Slice[T]{}, false, nil
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(host)))%adopted != 0 {
		return Slice[T]{}, false, nil
	}
	mem := hostBytes(host)
	m := &allocation{dev: dev, own: mem, block: block{addr: a.Adopt(mem, result), size: int64(len(mem))}}
	m.owner = m
	dev.blocks.add(&m.block)
	dev.held(dev.bytes.Add(m.size))
	return Slice[T]{buf: m.buffer(), n: len(host)}, true, nil
}
