package tensor

import (
	"fmt"
	"slices"
	"sync"
	"weak"

	"github.com/gokiln/kiln/runtime"
)

// Graph is operations that were captured and are submitted as a whole: see [Device.Capture].
type Graph struct {
	dev  *Device
	body *runtime.Graph

	mu      sync.Mutex
	written []weak.Pointer[runtime.Buffer] // which each launch changes

	base     *Tensor // where random numbers of a launch begin
	counters uint64  // of random numbers that a launch takes
}

// Capture calls fn, and has what it does with tensors of the device become a [Graph] instead of
// running. A launch of the graph does all of it again with the same memory, for about what one
// operation costs the host: tensors that fn made, and variables that it changed, then have the
// numbers that follow from what the operands have at that time.
//
//	x := tensor.Zeros(d, tensor.F32, 1, 512) // the input
//	var y *tensor.Tensor
//	graph, err := d.Capture(func() error {
//		y = net(x)
//		return y.Err()
//	})
//	for _, in := range inputs {
//		err = x.Assign(in)
//		err = graph.Launch()
//		… // y is that of in
//	}
//
// Random numbers, and with them dropout, are new ones in each launch: those that the same work would
// draw there without a graph. Seeds are set before a launch.
//
// A graph cannot hold what the host takes part in: to read elements, and to bring numbers of the host
// to the device. That is an error of kind [runtime.ErrCapturing]. So is what has a number of the host that changes from call to call,
// and would stay in the graph as it is: in package nn/attention to append to a cache, and in
// nn/optim LossScaler.Scale, Accumulator.Add, Average.Update with Ramp, Optimizer.Advance and
// Optimizer.Load. Shapes are fixed. While fn runs, no other goroutine uses tensors of the device,
// and fn captures nothing itself.
func (d *Device) Capture(fn func() error) (*Graph, error) {
	const op = "capture"
	if err := d.check(); err != nil {
		return nil, wrap(op, err)
	}
	if d.stream.Capturing() {
		return nil, wrap(op, fmt.Errorf("%w: within another capture", runtime.ErrCapturing))
	}
	base, err := empty(d, I64, Shape{2})
	if err != nil {
		return nil, wrap(op, err)
	}
	g := &Graph{dev: d, base: base}
	was := d.stream
	body, err := d.rt.Capture(func(s *runtime.Stream) error {
		drawn := d.random.capture(base)
		defer func() { d.stream, d.graph, g.counters = was, nil, drawn() }()
		d.stream, d.graph = s, g
		return fn()
	})
	if err != nil {
		return nil, wrap(op, err)
	}
	g.body = body
	all := map[weak.Pointer[runtime.Buffer]]bool{}
	g.written = slices.DeleteFunc(g.written, func(b weak.Pointer[runtime.Buffer]) bool {
		seen := all[b]
		all[b] = true
		return seen
	})
	return g, nil
}

// writes notes that launches of the graph change memory; g is nil where nothing is captured.
func (g *Graph) writes(b *runtime.Buffer) {
	if g != nil && b != nil {
		g.written = append(g.written, weak.Make(b))
	}
}

// Launch submits the operations, behind the work of the device so far. Tensors that they write
// count as changed in place: see [Tensor.Assign].
func (g *Graph) Launch() error {
	const op = "launch a graph"
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.seed(); err != nil {
		return wrap(op, err)
	}
	if err := g.body.Launch(g.dev.stream); err != nil {
		return wrap(op, err)
	}
	var by any = change{op, position()}
	left := g.written[:0]
	for _, w := range g.written {
		if b := w.Value(); b != nil && !b.Freed() {
			b.NoteChange(by)
			left = append(left, w)
		}
	}
	g.written = left
	return nil
}

// seed says where the random numbers of a launch begin.
func (g *Graph) seed() error {
	if g.counters == 0 {
		return nil
	}
	mem, err := runtime.View[int64](g.base.buf)
	if err != nil {
		return err
	}
	at := g.dev.random.launch(g.counters)
	return mem.CopyFromAsync(g.dev.stream, []int64{int64(at.Seed), int64(at.Next)})
}

// Close gives the graph up, when the launches so far are done. One that is not closed is when Go
// collects it.
func (g *Graph) Close() error { return wrap("close a graph", g.body.Close()) }
