package cuda

import (
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Kernels that begin by waiting for the one before them are started while that one still runs
// (CUDA C++ Programming Guide, programmatic dependent launch): blocks are in place, and have
// their code and arguments, by the time the last block of the other one ends.

// earlyCall is all that the driver reads of such a launch, besides the arguments.
type earlyCall struct {
	dl.Pair
	extra  extra
	config launchConfig
	early  launchAttribute
}

var _ [unsafe.Sizeof(driver.Launch{}.Scratch) - unsafe.Sizeof(earlyCall{})]byte

// launchConfig is a CUlaunchConfig.
type launchConfig struct {
	grid, block [3]uint32
	shared      uint32
	stream      uintptr
	attributes  uintptr
	count       uint32
}

// launchAttribute is a CUlaunchAttribute, whose value has 64 bytes.
type launchAttribute struct {
	id    uint32
	value uint64
	_     [7]uint64
}

// programmaticSerialization is CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.
const programmaticSerialization = 6

// launchEarly launches a kernel that waits by itself. Like Launch it allocates nothing.
func (s *stream) launchEarly(fn *function, l *driver.Launch) error {
	c := (*earlyCall)(unsafe.Pointer(&l.Scratch))
	c.extra.set(fn.unpadded(l.Args))
	c.early = launchAttribute{id: programmaticSerialization, value: 1}
	c.config = launchConfig{
		grid:  [3]uint32{uint32(l.Grid[0]), uint32(l.Grid[1]), uint32(l.Grid[2])},
		block: [3]uint32{uint32(l.Block[0]), uint32(l.Block[1]), uint32(l.Block[2])}, shared: uint32(l.Shared),
		stream: s.handle, attributes: uintptr(unsafe.Pointer(&c.early)), count: 1,
	}
	c.Pair = dl.Pair{First: s.dev.lib.cuCtxSetCurrent, Arg: s.dev.ctx, Fn: s.dev.lib.cuLaunchKernelEx, Args: [11]uintptr{
		uintptr(unsafe.Pointer(&c.config)), fn.handle, 0, uintptr(unsafe.Pointer(&c.extra)),
	}}
	return s.submit(fn, l, &c.Pair)
}
