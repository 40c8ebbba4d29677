package vendorapi

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Node is a node to be: a function, and what it takes besides the graph and the nodes
// that come before.
type Node struct {
	Add  uintptr
	Args []uintptr
	Keep any // what Args points to

	// Set is a function to call with the node that was made, and what it takes besides; 0 for none.
	Set     uintptr
	SetArgs []uintptr
}

// graphs are the graphs of a device that are not closed. The zero value is empty.
type graphs struct {
	mu   sync.Mutex
	live map[*graph]struct{}
}

// graph is a CUgraphExec, or a hipGraphExec_t.
type graph struct {
	dev    *Device
	launch dl.Pair
	exec   uintptr
}

// NewGraph makes the graph of a list of operations.
func (d *Device) NewGraph(ops []driver.Op) (driver.Graph, error) {
	f := &d.Lib.Graphs
	if !f.complete() {
		return nil, fmt.Errorf("the driver's library has no graphs: %w", errors.ErrUnsupported)
	}
	g := &graph{dev: d}
	b := &builder{dev: d, nodes: make([]uintptr, len(ops))}
	if err := d.node("create a graph", f.Create, address(&b.graph), 0); err != nil {
		return nil, err
	}
	err := b.build(ops, &g.exec)
	if closeErr := d.node("destroy a graph", f.Destroy, b.graph); err == nil {
		err = closeErr
	}
	goruntime.KeepAlive(b)
	if err != nil {
		if g.exec != 0 {
			// There is an error already, which goes first.
			_ = g.destroy()
		}
		return nil, err
	}
	g.launch = d.Pair(f.Launch, [11]uintptr{g.exec})
	d.graphs.mu.Lock()
	defer d.graphs.mu.Unlock()
	if d.graphs.live == nil {
		d.graphs.live = map[*graph]struct{}{}
	}
	d.graphs.live[g] = struct{}{}
	return g, nil
}

// node calls a function that makes a part of a graph, which the library may be too old for.
//
//go:uintptrescapes
func (d *Device) node(op string, fn uintptr, args ...uintptr) error {
	r := d.Try(fn, args...)
	if t := d.Lib.traits; r == Success || r != t.NoNode {
		return d.Lib.Error(op, d.info.Name, r)
	}
	e := d.Lib.Failure(op, d.info.Name, r)
	e.Kind = errors.ErrUnsupported
	return e
}

// builder is on the heap, as all that the library reads and writes.
type builder struct {
	dev   *Device
	graph uintptr
	nodes []uintptr // of the operations
	after []uintptr // those that the next one comes after
}

func address(p *uintptr) uintptr { return uintptr(unsafe.Pointer(p)) }

func (b *builder) build(ops []driver.Op, exec *uintptr) error {
	for i := range ops {
		if err := b.add(i, &ops[i]); err != nil {
			return err
		}
	}
	return b.dev.node("instantiate a graph", b.dev.Lib.Graphs.Instantiate, address(exec), b.graph, 0)
}

func (b *builder) add(i int, op *driver.Op) error {
	n, err := b.dev.nodeOf(op)
	if err != nil {
		return err
	}
	b.after = b.after[:0]
	for _, at := range op.After {
		b.after = append(b.after, b.nodes[at])
	}
	args := []uintptr{address(&b.nodes[i]), b.graph, address(unsafe.SliceData(b.after)), uintptr(len(b.after))}
	text := "add " + name(op) + " to a graph"
	err = b.dev.node(text, n.Add, append(args, n.Args...)...)
	if err == nil && n.Set != 0 {
		err = b.dev.node(text, n.Set, append([]uintptr{b.nodes[i]}, n.SetArgs...)...)
	}
	goruntime.KeepAlive(n.Keep)
	return err
}

// nodeOf asks the vendor, after the checks of a launch.
func (d *Device) nodeOf(op *driver.Op) (Node, error) {
	var fn *Function
	if op.Kernel != nil {
		var err error
		if fn, err = d.launchable(op.Kernel, &op.Launch); err != nil {
			return Node{}, err
		}
		if op.Launch.Cooperative {
			if err := driver.CheckGrid(fn, &d.info, &op.Launch); err != nil {
				return Node{}, err
			}
		}
	}
	return d.Lib.vendor.Node(d, op, fn)
}

func name(op *driver.Op) string {
	switch {
	case op.Kernel != nil:
		return "kernel " + op.Kernel.Info().Name
	case op.Fill:
		return "a fill"
	}
	return "a copy"
}

// Launch submits the graph.
func (g *graph) Launch(s driver.Stream) error {
	d := g.dev
	own, ok := s.(*Stream)
	if !ok || own.dev != d {
		return d.refuse("launch a graph", "the stream belongs to another device")
	}
	g.launch.Args[1] = own.handle
	if r := Result(uint32(g.launch.Call())); r != Success {
		return d.Lib.Failure("launch a graph", d.info.Name, r)
	}
	return nil
}

// Close destroys the graph, unless the device was closed.
func (g *graph) Close() error {
	d := g.dev
	d.graphs.mu.Lock()
	_, live := d.graphs.live[g]
	delete(d.graphs.live, g)
	d.graphs.mu.Unlock()
	if !live {
		return nil
	}
	if d.Lib.traits.GraphsInUse {
		if err := d.Sync(); err != nil {
			return err
		}
	}
	return g.destroy()
}

func (g *graph) destroy() error {
	return g.dev.Do("destroy a graph", g.dev.Lib.Graphs.DestroyExec, g.exec)
}

// closeGraphs destroys the graphs, none of which is in use any more.
func (d *Device) closeGraphs() error {
	d.graphs.mu.Lock()
	live := d.graphs.live
	d.graphs.live = nil
	d.graphs.mu.Unlock()
	var first error
	for g := range live {
		if err := g.destroy(); first == nil {
			first = err
		}
	}
	return first
}
