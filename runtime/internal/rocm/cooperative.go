package rocm

import (
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// launchCooperative launches a kernel of which all blocks have to be resident. Such a launch takes no block
// of arguments, but the address of each parameter. Like Launch it allocates nothing, once l.Pointers has room.
func (s *stream) launchCooperative(fn *function, l *driver.Launch) error {
	if err := driver.CheckGrid(fn, &s.dev.info, l); err != nil {
		return err
	}
	if err := l.PointTo(fn, &s.dev.info); err != nil {
		return err
	}
	c := (*launchCall)(unsafe.Pointer(&l.Scratch))
	c.Pair = dl.Pair{First: s.dev.lib.hipSetDevice, Arg: s.dev.handle, Fn: s.dev.lib.hipModuleLaunchCooperativeKernel, Args: [11]uintptr{
		fn.handle,
		uintptr(l.Grid[0]), uintptr(l.Grid[1]), uintptr(l.Grid[2]),
		uintptr(l.Block[0]), uintptr(l.Block[1]), uintptr(l.Block[2]),
		uintptr(l.Shared), s.handle, uintptr(unsafe.Pointer(unsafe.SliceData(l.Pointers))),
	}}
	return s.submit(fn, l, &c.Pair)
}

// ResidentBlocks asks the runtime, which knows the kernel's registers.
func (f *function) ResidentBlocks(block [3]int, shared int) (int, error) {
	const op = "count the resident blocks of "
	d := f.dev
	if !d.info.GridBarriers {
		return 0, &driver.Error{Op: op + f.info.Name, Device: d.info.Name, Kind: driver.ErrInvalid, Text: "the device or its runtime has no launches of blocks that are all resident"}
	}
	threads := block[0] * block[1] * block[2]
	n, err := f.occupancy.Blocks(threads, shared, func(n *int32) error {
		return d.do(op+f.info.Name, d.lib.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, uintptr(unsafe.Pointer(n)), f.handle, uintptr(threads), uintptr(shared))
	})
	return n * d.info.Units, err
}
