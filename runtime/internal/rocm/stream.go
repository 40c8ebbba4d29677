package rocm

import (
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
)

// The scratch memory of a launch has room for its call.
var _ [unsafe.Sizeof(driver.Launch{}.Scratch) - unsafe.Sizeof(dl.Pair{})]byte

// Special is a cooperative launch. Such a one takes no block of arguments, but the address of each
// parameter. It allocates nothing, once launch.Pointers has room. No launch overlaps another.
func (l *library) Special(s *vendorapi.Stream, f *vendorapi.Function, launch *driver.Launch) (*dl.Pair, error) {
	if !launch.Cooperative {
		return nil, nil
	}
	if err := s.Device().PointTo(f, launch); err != nil {
		return nil, err
	}
	c := (*dl.Pair)(unsafe.Pointer(&launch.Scratch))
	s.SetLaunch(c, l.hipModuleLaunchCooperativeKernel, f, launch)
	c.Args[9] = uintptr(unsafe.Pointer(unsafe.SliceData(launch.Pointers)))
	return c, nil
}

// Copy2D leaves it to the runtime to find out from the addresses where they are.
func (l *library) Copy2D(s *vendorapi.Stream, dst driver.Addr, dstPitch int64, src driver.Addr, srcPitch, width, height int64) error {
	return s.Device().Do("copy a rectangle", l.hipMemcpy2DAsync, uintptr(dst), uintptr(dstPitch), uintptr(src), uintptr(srcPitch),
		uintptr(width), uintptr(height), vendorapi.CopyByAddress, s.Handle())
}
