package runtime

import (
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// FromOwned is [From] of memory that the program gives up: it must not be read or written
// afterwards, since kernels of a device that has the host's memory use it as it is. Others
// copy it. T has no pointers.
func FromOwned[T any](dev *Device, host []T) (Slice[T], error) {
	if err := dev.usable(); err != nil {
		return Slice[T]{}, err
	}
	size, err := elemSize[T]()
	if err != nil {
		return Slice[T]{}, err
	}
	a, ok := dev.drv.(driver.Adopter)
	if !ok || size == 0 || len(host) == 0 || dev.MemoryLimit() > 0 {
		return From(dev, host) // a limit counts what is allocated
	}
	mem := hostBytes(host)
	m := &allocation{dev: dev, own: mem, block: block{addr: a.Adopt(mem), size: int64(len(mem))}}
	m.owner = m
	dev.blocks.add(&m.block)
	dev.held(dev.bytes.Add(m.size))
	return Slice[T]{buf: m.buffer(), n: len(host)}, nil
}
