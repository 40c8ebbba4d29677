package rocm

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
)

// kernelNode is hipKernelNodeParams, and the list with the arguments.
type kernelNode struct {
	block    [3]uint32
	_        uint32
	extra    uintptr
	function uintptr
	grid     [3]uint32
	_        uint32
	params   uintptr
	shared   uint32
	_        uint32
	list     vendorapi.Extra
}

// copyNode is hipMemcpy3DParms.
type copyNode struct {
	src, dst             copySide
	width, height, depth uint64 // width in bytes
	kind                 uint32 // hipMemcpyKind
	_                    uint32
}

type copySide struct {
	array               uint64
	x, y, z             uint64
	ptr, pitch          uint64
	rowSize, rowsInside uint64 // of the allocation, which means nothing for one layer
}

// fillNode is hipMemsetParams.
type fillNode struct {
	dst, pitch    uint64
	value, size   uint32 // of an element
	width, height uint64 // in elements
}

// oldFillNode is hipMemsetParams as it was before HIP 7.
type oldFillNode struct {
	dst           uint64
	size          uint32
	_             uint32
	height, pitch uint64
	value         uint32
	_             uint32
	width         uint64
}

// version7 is the number of HIP 7.0.
const version7 = 7e7

// Node is a kernel node, a memcpy node or a memset node.
func (l *library) Node(_ *vendorapi.Device, op *driver.Op, fn *vendorapi.Function) (vendorapi.Node, error) {
	f := &l.Graphs
	switch {
	case fn != nil:
		return l.kernelNode(fn, &op.Launch)
	case op.Fill && l.Version < version7:
		n := &oldFillNode{dst: uint64(op.Dst), value: uint32(op.Value), size: 1, width: uint64(op.Width), height: 1, pitch: uint64(op.Width)}
		return vendorapi.Node{Add: f.AddFill, Args: []uintptr{uintptr(unsafe.Pointer(n))}, Keep: n}, nil
	case op.Fill:
		n := &fillNode{dst: uint64(op.Dst), value: uint32(op.Value), size: 1, width: uint64(op.Width), height: 1, pitch: uint64(op.Width)}
		return vendorapi.Node{Add: f.AddFill, Args: []uintptr{uintptr(unsafe.Pointer(n))}, Keep: n}, nil
	case op.Rows == 1: // a node of its own kind: a row may be longer than a rectangle's
		return vendorapi.Node{Add: l.hipGraphAddMemcpyNode1D, Args: []uintptr{uintptr(op.Dst), uintptr(op.Src), uintptr(op.Width), vendorapi.CopyByAddress}}, nil
	}
	side := func(a driver.Addr, pitch int64) copySide {
		return copySide{ptr: uint64(a), pitch: uint64(pitch), rowSize: uint64(op.Width), rowsInside: uint64(op.Rows)}
	}
	n := &copyNode{src: side(op.Src, op.SrcPitch), dst: side(op.Dst, op.DstPitch), width: uint64(op.Width), height: uint64(op.Rows), depth: 1, kind: vendorapi.CopyByAddress}
	return vendorapi.Node{Add: f.AddCopy, Args: []uintptr{uintptr(unsafe.Pointer(n))}, Keep: n}, nil
}

func (l *library) kernelNode(f *vendorapi.Function, launch *driver.Launch) (vendorapi.Node, error) {
	if launch.Cooperative { // which versions of the runtime launch such nodes so is not documented
		return vendorapi.Node{}, fmt.Errorf("a graph cannot have a kernel that waits for its whole grid: %w", errors.ErrUnsupported)
	}
	n := &kernelNode{function: f.Handle(), shared: uint32(launch.Shared)}
	for i := range launch.Grid {
		n.grid[i], n.block[i] = uint32(launch.Grid[i]), uint32(launch.Block[i])
	}
	n.list.Set(f, launch.Args)
	n.extra = uintptr(unsafe.Pointer(&n.list))
	return vendorapi.Node{Add: l.Graphs.AddKernel, Args: []uintptr{uintptr(unsafe.Pointer(n))}, Keep: n}, nil
}
