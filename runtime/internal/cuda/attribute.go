package cuda

import (
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// attributeCall is all that the driver reads of a launch with an attribute, besides the arguments.
type attributeCall struct {
	dl.Pair
	extra     extra
	config    launchConfig
	attribute launchAttribute
}

var _ [unsafe.Sizeof(driver.Launch{}.Scratch) - unsafe.Sizeof(attributeCall{})]byte

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

// The attributes. With the second one, kernels that begin by waiting for the one before them are started
// while that one still runs (CUDA C++ Programming Guide, programmatic dependent launch): blocks are in
// place, and have their code and arguments, by the time the last block of the other one ends.
const (
	cooperative               = 2 // CU_LAUNCH_ATTRIBUTE_COOPERATIVE
	programmaticSerialization = 6 // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
)

// launchAs launches a kernel with an attribute whose value is 1. Like Launch it allocates nothing.
func (s *stream) launchAs(attribute uint32, fn *function, l *driver.Launch) error {
	c := (*attributeCall)(unsafe.Pointer(&l.Scratch))
	c.extra.set(fn.unpadded(l.Args))
	c.attribute = launchAttribute{id: attribute, value: 1}
	c.config = launchConfig{
		grid:  [3]uint32{uint32(l.Grid[0]), uint32(l.Grid[1]), uint32(l.Grid[2])},
		block: [3]uint32{uint32(l.Block[0]), uint32(l.Block[1]), uint32(l.Block[2])}, shared: uint32(l.Shared),
		stream: s.handle, attributes: uintptr(unsafe.Pointer(&c.attribute)), count: 1,
	}
	c.Pair = dl.Pair{First: s.dev.lib.cuCtxSetCurrent, Arg: s.dev.ctx, Fn: s.dev.lib.cuLaunchKernelEx, Args: [11]uintptr{
		uintptr(unsafe.Pointer(&c.config)), fn.handle, 0, uintptr(unsafe.Pointer(&c.extra)),
	}}
	return s.submit(fn, l, &c.Pair)
}

// launchCooperative launches a kernel of which all blocks have to be resident.
func (s *stream) launchCooperative(fn *function, l *driver.Launch) error {
	if err := driver.CheckGrid(fn, &s.dev.info, l); err != nil {
		return err
	}
	return s.launchAs(cooperative, fn, l)
}

// ResidentBlocks asks the driver, which knows the kernel's registers.
func (f *function) ResidentBlocks(block [3]int, shared int) (int, error) {
	const op = "count the resident blocks of "
	count := f.dev.lib.cuOccupancyMaxActiveBlocksPerMultiprocessor
	if count == 0 {
		return 0, &driver.Error{Op: op + f.info.Name, Device: f.dev.info.Name, Kind: driver.ErrInvalid, Text: "the device's driver cannot tell"}
	}
	threads := block[0] * block[1] * block[2]
	n, err := f.occupancy.Blocks(threads, shared, func(n *int32) error {
		return f.dev.do(op+f.info.Name, count, uintptr(unsafe.Pointer(n)), f.handle, uintptr(threads), uintptr(shared))
	})
	return n * f.dev.info.Units, err
}
