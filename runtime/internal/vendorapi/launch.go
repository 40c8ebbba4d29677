package vendorapi

import (
	"fmt"
	"math"
	goruntime "runtime"
	"slices"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Extra is the list that passes a block of arguments, by CU_LAUNCH_PARAM_BUFFER_POINTER or
// HIP_LAUNCH_PARAM_BUFFER_POINTER.
type Extra struct {
	list [5]uintptr
	size uintptr
}

// Set has the list pass the arguments of a launch of a kernel. It must not move afterwards.
func (e *Extra) Set(f *Function, args []byte) {
	args = f.unpadded(args)
	e.size = uintptr(len(args))
	p := unsafe.Pointer(unsafe.SliceData(args))
	if len(args) == 0 {
		p = unsafe.Pointer(&e.size) // anything but nil: a kernel without parameters reads nothing
	}
	e.list = [5]uintptr{launchBufferPointer, uintptr(p), launchBufferSize, uintptr(unsafe.Pointer(&e.size)), f.dev.Lib.traits.LaunchEnd}
}

// launchCall is all that the library reads of a launch, besides the arguments.
type launchCall struct {
	dl.Pair
	extra Extra
}

// The scratch memory of a launch has room for it.
var _ [unsafe.Sizeof(driver.Launch{}.Scratch) - unsafe.Sizeof(launchCall{})]byte

// launchable checks a launch and gets the kernel ready for it.
func (d *Device) launchable(f driver.Function, l *driver.Launch) (*Function, error) {
	fn, ok := f.(*Function)
	if !ok || fn.dev != d {
		return nil, d.refuse("launch", "the kernel was loaded on another device")
	}
	t := d.Lib.traits
	if most := fn.maxDynamic.Load(); int64(l.Shared) > most && t.PlainShared > 0 {
		if err := fn.allowDynamic(l.Shared); err != nil {
			return nil, err
		}
	}
	if t.WholeWords && len(l.Args)%4 != 0 { // the rest would be dropped in silence
		return nil, d.refuse("launch "+fn.info.Name, "the argument block is not a whole number of 4-byte words: pad the kernel's parameters")
	}
	if n := fn.argsFrom - l.ArgsFrom; n > 0 {
		l.Args = slices.Grow(l.Args, n)[:len(l.Args)+n]
		copy(l.Args[n:], l.Args)
		l.ArgsFrom = fn.argsFrom
	}
	if axis := tooWide(l); axis >= 0 && t.Grids32 {
		return nil, d.refuse("launch "+fn.info.Name, fmt.Sprintf("%d blocks of %d threads in %c: an %s GPU counts the threads of a grid in 32 bits",
			l.Grid[axis], l.Block[axis], "XYZ"[axis], t.Vendor))
	}
	return fn, nil
}

func (d *Device) refuse(op, text string) error {
	return &driver.Error{Op: op, Device: d.info.Name, Kind: driver.ErrInvalid, Text: text}
}

// tooWide is the dimension in which a grid has 2³² threads or more, -1 if there is none.
func tooWide(l *driver.Launch) int {
	for i := range l.Grid {
		if uint64(l.Grid[i])*uint64(l.Block[i]) > math.MaxUint32 {
			return i
		}
	}
	return -1
}

// Launch is the path that must not allocate: all that the library reads lies in l,
// which is on the heap because it is pooled.
func (s *Stream) Launch(f driver.Function, l *driver.Launch) error {
	fn, err := s.dev.launchable(f, l)
	if err != nil {
		return err
	}
	var call *dl.Pair
	if l.Cooperative || l.Overlaps {
		if call, err = s.special(fn, l); err != nil {
			return err
		}
	}
	if call == nil {
		c := (*launchCall)(unsafe.Pointer(&l.Scratch))
		c.extra.Set(fn, l.Args)
		s.SetLaunch(&c.Pair, s.dev.Lib.Launch, fn, l)
		c.Args[10] = uintptr(unsafe.Pointer(&c.extra))
		call = &c.Pair
	}
	r := Result(uint32(call.Call()))
	goruntime.KeepAlive(l)
	if r != Success {
		return s.dev.Lib.Failure("launch "+fn.info.Name, s.dev.info.Name, r)
	}
	return nil
}

// special is the vendor's call of a launch, nil if it is like any other.
func (s *Stream) special(fn *Function, l *driver.Launch) (*dl.Pair, error) {
	if l.Cooperative {
		if err := driver.CheckGrid(fn, &s.dev.info, l); err != nil {
			return nil, err
		}
	}
	return s.dev.Lib.vendor.Special(s, fn, l)
}

// SetLaunch makes p a call of a function that takes a kernel, a grid, a block, shared memory and
// the stream.
func (s *Stream) SetLaunch(p *dl.Pair, fn uintptr, f *Function, l *driver.Launch) {
	*p = dl.Pair{First: s.dev.Lib.SetCurrent, Arg: s.dev.current, Fn: fn, Args: [11]uintptr{
		f.handle,
		uintptr(l.Grid[0]), uintptr(l.Grid[1]), uintptr(l.Grid[2]),
		uintptr(l.Block[0]), uintptr(l.Block[1]), uintptr(l.Block[2]),
		uintptr(l.Shared), s.handle,
	}}
}

// PointTo fills l.Pointers with the addresses of the parameters of a kernel.
func (d *Device) PointTo(f *Function, l *driver.Launch) error { return l.PointTo(f, &d.info) }
