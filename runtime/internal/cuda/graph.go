package cuda

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
)

// kernelNode is CUDA_KERNEL_NODE_PARAMS, of which old drivers do not read the last two,
// and the list with the arguments.
type kernelNode struct {
	function    uintptr
	grid, block [3]uint32
	shared      uint32
	params      uintptr
	extra       uintptr
	kernel, ctx uintptr
	list        vendorapi.Extra
	value       [8]uint64 // a CUlaunchAttributeValue, for a function of its own
}

// copyNode is CUDA_MEMCPY3D.
type copyNode struct {
	src, dst             copySide
	width, height, depth uint64 // width in bytes
}

type copySide struct {
	x, y, z, lod uint64
	kind         uint64 // CUmemorytype and padding
	host         uint64
	device       uint64
	array        uint64
	reserved     uint64
	pitch        uint64
	height       uint64
}

// fillNode is CUDA_MEMSET_NODE_PARAMS.
type fillNode struct {
	dst, pitch    uint64
	value, size   uint32 // of an element
	width, height uint64 // in elements
}

// maxPitch is the most that the driver takes for the length of a row
// (CU_DEVICE_ATTRIBUTE_MAX_PITCH), on every device.
const maxPitch = math.MaxInt32

// Node is a kernel node, a memcpy node or a memset node.
func (l *library) Node(d *vendorapi.Device, op *driver.Op, f *vendorapi.Function) (vendorapi.Node, error) {
	switch {
	case f != nil:
		return l.kernelNode(d, f, &op.Launch)
	case op.Fill:
		n := &fillNode{dst: uint64(op.Dst), value: uint32(op.Value), size: 1, width: uint64(op.Width), height: 1}
		return vendorapi.Node{Add: l.Graphs.AddFill, Args: []uintptr{uintptr(unsafe.Pointer(n)), d.Current()}, Keep: n}, nil
	}
	n := &copyNode{src: unified(op.Src, op.SrcPitch), dst: unified(op.Dst, op.DstPitch), width: uint64(op.Width), height: uint64(op.Rows), depth: 1}
	if op.Rows == 1 {
		n.src.pitch, n.dst.pitch = n.width, n.width
	}
	if most := max(n.width, n.src.pitch, n.dst.pitch); most > maxPitch {
		return vendorapi.Node{}, fmt.Errorf("a graph cannot copy rows of %d bytes: %w", most, errors.ErrUnsupported)
	}
	return vendorapi.Node{Add: l.Graphs.AddCopy, Args: []uintptr{uintptr(unsafe.Pointer(n)), d.Current()}, Keep: n}, nil
}

// unified leaves it to the driver to find out from an address where it is.
func unified(a driver.Addr, pitch int64) copySide {
	return copySide{kind: memoryTypeUnified, device: uint64(a), pitch: uint64(pitch)}
}

func (l *library) kernelNode(d *vendorapi.Device, f *vendorapi.Function, launch *driver.Launch) (vendorapi.Node, error) {
	n := &kernelNode{function: f.Handle(), shared: uint32(launch.Shared)}
	for i := range launch.Grid {
		n.grid[i], n.block[i] = uint32(launch.Grid[i]), uint32(launch.Block[i])
	}
	node := vendorapi.Node{Add: l.Graphs.AddKernel, Args: []uintptr{uintptr(unsafe.Pointer(n))}, Keep: n}
	switch {
	case !launch.Cooperative:
		n.list.Set(f, launch.Args)
		n.extra = uintptr(unsafe.Pointer(&n.list))
		return node, nil
	case l.cuGraphKernelNodeSetAttribute == 0:
		return node, fmt.Errorf("a graph cannot have a kernel that waits for its whole grid: %w", errors.ErrUnsupported)
	}
	// The driver takes the attribute of nodes that have their parameters one by one alone.
	if err := d.PointTo(f, launch); err != nil {
		return node, err
	}
	n.params = uintptr(unsafe.Pointer(unsafe.SliceData(launch.Pointers)))
	n.value[0] = 1
	node.Set, node.SetArgs = l.cuGraphKernelNodeSetAttribute, []uintptr{cooperative, uintptr(unsafe.Pointer(&n.value))}
	return node, nil
}
