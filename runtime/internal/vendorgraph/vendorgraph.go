package vendorgraph

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Functions are the addresses of a library's functions, 0 where it has none. What they
// return is 0 for success.
type Functions struct {
	Create      uintptr // (graph *handle, flags uint32)
	AddKernel   uintptr // (node *handle, graph handle, after *handle, n, …), as those below
	AddCopy     uintptr
	AddFill     uintptr
	Instantiate uintptr // (executable *handle, graph handle, flags uint64)
	Launch      uintptr // (executable, stream handle)
	Destroy     uintptr // (graph handle)
	DestroyExec uintptr // (executable handle)
}

// Complete reports whether all of them are there.
func (f *Functions) Complete() bool {
	return f.Create != 0 && f.AddKernel != 0 && f.AddCopy != 0 && f.AddFill != 0 &&
		f.Instantiate != 0 && f.Launch != 0 && f.Destroy != 0 && f.DestroyExec != 0
}

// Vendor is a device with its library.
type Vendor interface {
	// Graphs are the library's functions.
	Graphs() *Functions
	// Node says how an operation is added to a graph.
	Node(op *driver.Op) (Node, error)
	// Stream returns the handle of a stream, or an error if it is another device's.
	Stream(s driver.Stream) (uintptr, error)
	// Enter is the function that makes the device current, and its argument.
	Enter() (fn, arg uintptr)
	// Call calls a function with the device current. What the arguments point to
	// has to be on the heap.
	Call(op string, fn uintptr, args ...uintptr) error
	// Failure is the error of a call that returned a number.
	Failure(op string, result int32) error
	// Settle waits until a graph that is to be destroyed is not in use any more,
	// where the library does not do so by itself.
	Settle() error
}

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

// Set is the graphs of a device. The zero Set is empty.
type Set struct {
	mu   sync.Mutex
	live map[*graph]struct{}
}

// graph is an executable graph.
type graph struct {
	set    *Set
	vendor Vendor
	launch dl.Pair
	exec   uintptr
}

// New makes the graph of a list of operations.
func (s *Set) New(v Vendor, ops []driver.Op) (driver.Graph, error) {
	f := v.Graphs()
	if !f.Complete() {
		return nil, fmt.Errorf("the driver's library has no graphs: %w", errors.ErrUnsupported)
	}
	g := &graph{set: s, vendor: v}
	b := &builder{vendor: v, nodes: make([]uintptr, len(ops))}
	if err := v.Call("create a graph", f.Create, address(&b.graph), 0); err != nil {
		return nil, err
	}
	err := b.build(ops, &g.exec)
	if closeErr := v.Call("destroy a graph", f.Destroy, b.graph); err == nil {
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
	g.launch.First, g.launch.Arg = v.Enter()
	g.launch.Fn, g.launch.Args[0] = f.Launch, g.exec
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		s.live = map[*graph]struct{}{}
	}
	s.live[g] = struct{}{}
	return g, nil
}

// builder is on the heap, as all that the library reads and writes.
type builder struct {
	vendor Vendor
	graph  uintptr
	nodes  []uintptr // of the operations
	after  []uintptr // those that the next one comes after
}

func address(p *uintptr) uintptr { return uintptr(unsafe.Pointer(p)) }

func (b *builder) build(ops []driver.Op, exec *uintptr) error {
	for i := range ops {
		if err := b.add(i, &ops[i]); err != nil {
			return err
		}
	}
	return b.vendor.Call("instantiate a graph", b.vendor.Graphs().Instantiate, address(exec), b.graph, 0)
}

func (b *builder) add(i int, op *driver.Op) error {
	n, err := b.vendor.Node(op)
	if err != nil {
		return err
	}
	b.after = b.after[:0]
	for _, at := range op.After {
		b.after = append(b.after, b.nodes[at])
	}
	args := []uintptr{address(&b.nodes[i]), b.graph, address(unsafe.SliceData(b.after)), uintptr(len(b.after))}
	text := "add " + name(op) + " to a graph"
	err = b.vendor.Call(text, n.Add, append(args, n.Args...)...)
	if err == nil && n.Set != 0 {
		err = b.vendor.Call(text, n.Set, append([]uintptr{b.nodes[i]}, n.SetArgs...)...)
	}
	goruntime.KeepAlive(n.Keep)
	return err
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
	h, err := g.vendor.Stream(s)
	if err != nil {
		return err
	}
	g.launch.Args[1] = h
	if r := g.launch.Call(); r != 0 {
		return g.vendor.Failure("launch a graph", r)
	}
	return nil
}

// Close destroys the graph, unless the device was closed.
func (g *graph) Close() error {
	g.set.mu.Lock()
	_, live := g.set.live[g]
	delete(g.set.live, g)
	g.set.mu.Unlock()
	if !live {
		return nil
	}
	if err := g.vendor.Settle(); err != nil {
		return err
	}
	return g.destroy()
}

func (g *graph) destroy() error {
	return g.vendor.Call("destroy a graph", g.vendor.Graphs().DestroyExec, g.exec)
}

// Close destroys the graphs, none of which is in use any more.
func (s *Set) Close() error {
	s.mu.Lock()
	live := s.live
	s.live = nil
	s.mu.Unlock()
	var first error
	for g := range live {
		if err := g.destroy(); first == nil {
			first = err
		}
	}
	return first
}
