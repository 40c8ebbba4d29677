package cuda

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorgraph"
)

// NewGraph makes a CUgraphExec.
func (d *device) NewGraph(ops []driver.Op) (driver.Graph, error) { return d.graphs.New(d, ops) }

// Graphs are the driver's functions for graphs.
func (d *device) Graphs() *vendorgraph.Functions { return &d.lib.graphs }

// Stream returns the handle of a stream of the device.
func (d *device) Stream(s driver.Stream) (uintptr, error) {
	own, ok := s.(*stream)
	if !ok || own.dev != d {
		return 0, &driver.Error{Op: "launch a graph", Device: d.info.Name, Kind: driver.ErrInvalid, Text: "the stream belongs to another device"}
	}
	return own.handle, nil
}

// Enter makes the device's context current.
func (d *device) Enter() (fn, arg uintptr) { return d.lib.cuCtxSetCurrent, d.ctx }

// Call calls a function with the context current.
//
//go:uintptrescapes
func (d *device) Call(op string, fn uintptr, args ...uintptr) error { return d.do(op, fn, args...) }

// Failure is the error of a result.
func (d *device) Failure(op string, r int32) error {
	return d.lib.failure(op, d.info.Name, result(r))
}

// Settle does nothing: the driver destroys a graph when it is done.
func (d *device) Settle() error { return nil }

// kernelNode is CUDA_KERNEL_NODE_PARAMS, of which old drivers do not read the last two,
// and the list with the arguments.
type kernelNode struct {
	function    uintptr
	grid, block [3]uint32
	shared      uint32
	params      uintptr
	extra       uintptr
	kernel, ctx uintptr
	list        extra
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
func (d *device) Node(op *driver.Op) (vendorgraph.Node, error) {
	switch {
	case op.Kernel != nil:
		return d.kernelNode(op.Kernel, &op.Launch)
	case op.Fill:
		n := &fillNode{dst: uint64(op.Dst), value: uint32(op.Value), size: 1, width: uint64(op.Width), height: 1}
		return vendorgraph.Node{Add: d.lib.graphs.AddFill, Args: []uintptr{uintptr(unsafe.Pointer(n)), d.ctx}, Keep: n}, nil
	}
	n := &copyNode{src: unified(op.Src, op.SrcPitch), dst: unified(op.Dst, op.DstPitch), width: uint64(op.Width), height: uint64(op.Rows), depth: 1}
	if op.Rows == 1 {
		n.src.pitch, n.dst.pitch = n.width, n.width
	}
	if most := max(n.width, n.src.pitch, n.dst.pitch); most > maxPitch {
		return vendorgraph.Node{}, fmt.Errorf("a graph cannot copy rows of %d bytes: %w", most, errors.ErrUnsupported)
	}
	return vendorgraph.Node{Add: d.lib.graphs.AddCopy, Args: []uintptr{uintptr(unsafe.Pointer(n)), d.ctx}, Keep: n}, nil
}

// unified leaves it to the driver to find out from an address where it is.
func unified(a driver.Addr, pitch int64) copySide {
	return copySide{kind: memoryTypeUnified, device: uint64(a), pitch: uint64(pitch)}
}

func (d *device) kernelNode(f driver.Function, l *driver.Launch) (vendorgraph.Node, error) {
	fn, err := d.launchable(f, l)
	if err != nil {
		return vendorgraph.Node{}, err
	}
	n := &kernelNode{function: fn.handle, shared: uint32(l.Shared)}
	for i := range l.Grid {
		n.grid[i], n.block[i] = uint32(l.Grid[i]), uint32(l.Block[i])
	}
	node := vendorgraph.Node{Add: d.lib.graphs.AddKernel, Args: []uintptr{uintptr(unsafe.Pointer(n))}, Keep: n}
	if !l.Cooperative {
		n.list.set(fn.unpadded(l.Args))
		n.extra = uintptr(unsafe.Pointer(&n.list))
		return node, nil
	}
	if err := driver.CheckGrid(fn, &d.info, l); err != nil {
		return node, err
	}
	if d.lib.cuGraphKernelNodeSetAttribute == 0 {
		return node, fmt.Errorf("a graph cannot have a kernel that waits for its whole grid: %w", errors.ErrUnsupported)
	}
	// The driver takes the attribute of nodes that have their parameters one by one alone.
	if err := l.PointTo(fn, &d.info); err != nil {
		return node, err
	}
	n.params = uintptr(unsafe.Pointer(unsafe.SliceData(l.Pointers)))
	n.value[0] = 1
	node.Set, node.SetArgs = d.lib.cuGraphKernelNodeSetAttribute, []uintptr{cooperative, uintptr(unsafe.Pointer(&n.value))}
	return node, nil
}
