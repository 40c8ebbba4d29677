package rocm

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorgraph"
)

// NewGraph makes a hipGraphExec_t.
func (d *device) NewGraph(ops []driver.Op) (driver.Graph, error) { return d.graphs.New(d, ops) }

// Graphs are the runtime's functions for graphs.
func (d *device) Graphs() *vendorgraph.Functions {
	if d.lib.hipGraphAddMemcpyNode1D == 0 {
		return new(vendorgraph.Functions) // there are none without it
	}
	return &d.lib.graphs
}

// Stream returns the handle of a stream of the device.
func (d *device) Stream(s driver.Stream) (uintptr, error) {
	own, ok := s.(*stream)
	if !ok || own.dev != d {
		return 0, &driver.Error{Op: "launch a graph", Device: d.info.Name, Kind: driver.ErrInvalid, Text: "the stream belongs to another device"}
	}
	return own.handle, nil
}

// Enter makes the device current.
func (d *device) Enter() (fn, arg uintptr) { return d.lib.hipSetDevice, d.handle }

// Call calls a function with the device current. The runtimes before ROCm 5.3 take no
// kernel of a module in a graph.
//
//go:uintptrescapes
func (d *device) Call(op string, fn uintptr, args ...uintptr) error {
	r := d.try(fn, args...)
	if r == invalidDeviceFunction {
		e := d.lib.failure(op, d.info.Name, r)
		e.Kind = errors.ErrUnsupported
		return e
	}
	return d.lib.error(op, d.info.Name, r)
}

// Failure is the error of a result.
func (d *device) Failure(op string, r int32) error {
	return d.lib.failure(op, d.info.Name, result(r))
}

// Settle waits for the device: not every version of the runtime keeps a graph that is
// destroyed until it is done.
func (d *device) Settle() error { return d.Sync() }

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
	list     extra
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
func (d *device) Node(op *driver.Op) (vendorgraph.Node, error) {
	f := &d.lib.graphs
	switch {
	case op.Kernel != nil:
		return d.kernelNode(op.Kernel, &op.Launch)
	case op.Fill && d.lib.version < version7:
		n := &oldFillNode{dst: uint64(op.Dst), value: uint32(op.Value), size: 1, width: uint64(op.Width), height: 1, pitch: uint64(op.Width)}
		return vendorgraph.Node{Add: f.AddFill, Args: []uintptr{uintptr(unsafe.Pointer(n))}, Keep: n}, nil
	case op.Fill:
		n := &fillNode{dst: uint64(op.Dst), value: uint32(op.Value), size: 1, width: uint64(op.Width), height: 1, pitch: uint64(op.Width)}
		return vendorgraph.Node{Add: f.AddFill, Args: []uintptr{uintptr(unsafe.Pointer(n))}, Keep: n}, nil
	case op.Rows == 1: // a node of its own kind: a row may be longer than a rectangle's
		return vendorgraph.Node{Add: d.lib.hipGraphAddMemcpyNode1D, Args: []uintptr{uintptr(op.Dst), uintptr(op.Src), uintptr(op.Width), copyByAddress}}, nil
	}
	side := func(a driver.Addr, pitch int64) copySide {
		return copySide{ptr: uint64(a), pitch: uint64(pitch), rowSize: uint64(op.Width), rowsInside: uint64(op.Rows)}
	}
	n := &copyNode{src: side(op.Src, op.SrcPitch), dst: side(op.Dst, op.DstPitch), width: uint64(op.Width), height: uint64(op.Rows), depth: 1, kind: copyByAddress}
	return vendorgraph.Node{Add: f.AddCopy, Args: []uintptr{uintptr(unsafe.Pointer(n))}, Keep: n}, nil
}

func (d *device) kernelNode(f driver.Function, l *driver.Launch) (vendorgraph.Node, error) {
	fn, err := d.launchable(f, l)
	if err != nil {
		return vendorgraph.Node{}, err
	}
	if l.Cooperative { // which versions of the runtime launch such nodes so is not documented
		if err := driver.CheckGrid(fn, &d.info, l); err != nil {
			return vendorgraph.Node{}, err
		}
		return vendorgraph.Node{}, fmt.Errorf("a graph cannot have a kernel that waits for its whole grid: %w", errors.ErrUnsupported)
	}
	n := &kernelNode{function: fn.handle, shared: uint32(l.Shared)}
	for i := range l.Grid {
		n.grid[i], n.block[i] = uint32(l.Grid[i]), uint32(l.Block[i])
	}
	n.list.set(l.Args)
	n.extra = uintptr(unsafe.Pointer(&n.list))
	return vendorgraph.Node{Add: d.lib.graphs.AddKernel, Args: []uintptr{uintptr(unsafe.Pointer(n))}, Keep: n}, nil
}
