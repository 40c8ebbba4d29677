package cuda

import (
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
)

// attributeCall is all that the driver reads of a launch with an attribute, besides the arguments.
type attributeCall struct {
	dl.Pair
	extra     vendorapi.Extra
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

// The attributes. With the second one, kernels that begin by waiting for the one before them are
// started while that one still runs (CUDA C++ Programming Guide, programmatic dependent launch):
// blocks are in place, and have their code and arguments, by the time the last block of the other
// one ends.
const (
	cooperative               = 2 // CU_LAUNCH_ATTRIBUTE_COOPERATIVE
	programmaticSerialization = 6 // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
)

// Special is a call of cuLaunchKernelEx, with one attribute.
func (l *library) Special(s *vendorapi.Stream, f *vendorapi.Function, launch *driver.Launch) (*dl.Pair, error) {
	attribute := uint32(programmaticSerialization)
	switch {
	case launch.Cooperative:
		attribute = cooperative
	case l.cuLaunchKernelEx == 0:
		return nil, nil
	}
	c := (*attributeCall)(unsafe.Pointer(&launch.Scratch))
	c.extra.Set(f, launch.Args)
	c.attribute = launchAttribute{id: attribute, value: 1}
	grid, block := launch.Grid, launch.Block
	c.config = launchConfig{
		grid:  [3]uint32{uint32(grid[0]), uint32(grid[1]), uint32(grid[2])},
		block: [3]uint32{uint32(block[0]), uint32(block[1]), uint32(block[2])}, shared: uint32(launch.Shared),
		stream: s.Handle(), attributes: uintptr(unsafe.Pointer(&c.attribute)), count: 1,
	}
	c.Pair = s.Device().Pair(l.cuLaunchKernelEx, [11]uintptr{
		uintptr(unsafe.Pointer(&c.config)), f.Handle(), 0, uintptr(unsafe.Pointer(&c.extra)),
	})
	return &c.Pair, nil
}

// copy2D is CUDA_MEMCPY2D.
type copy2D struct {
	srcX, srcY uint64
	srcType    uint64 // CUmemorytype and padding
	srcHost    uint64
	srcDevice  uint64
	srcArray   uint64
	srcPitch   uint64
	dstX, dstY uint64
	dstType    uint64
	dstHost    uint64
	dstDevice  uint64
	dstArray   uint64
	dstPitch   uint64
	width      uint64 // bytes
	height     uint64
}

// Copy2D leaves it to the driver to find out from the addresses where they are.
func (l *library) Copy2D(s *vendorapi.Stream, dst driver.Addr, dstPitch int64, src driver.Addr, srcPitch, width, height int64) error {
	c := &copy2D{
		srcType: memoryTypeUnified, srcDevice: uint64(src), srcPitch: uint64(srcPitch),
		dstType: memoryTypeUnified, dstDevice: uint64(dst), dstPitch: uint64(dstPitch),
		width: uint64(width), height: uint64(height),
	}
	return s.Device().Do("copy a rectangle", l.cuMemcpy2DAsync, uintptr(unsafe.Pointer(c)), s.Handle())
}
