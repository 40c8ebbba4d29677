package runtime

import (
	goruntime "runtime"
	"slices"
	"sync"

	"github.com/gokiln/kiln/internal/callsite"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Graph is work that was captured and is launched as a whole: see [Device.Capture].
// That takes about as long as one launch of a kernel where the vendor has graphs
// (CUDA, ROCm), and less than its launches one by one elsewhere. A Graph is safe for
// use by several goroutines.
//
// A graph holds its kernels and its memory: a buffer that is freed, or collected by
// Go, while a graph can still use it cannot be used by the program any more, and is
// given back when the graph is closed. The content is the program's to change
// between launches.
//
// What the kernels of a graph print comes behind what else was printed on the
// stream, ordered by launch of the graph first and then by kernel.
type Graph struct {
	body    *graphBody
	cleanup goruntime.Cleanup
}

// graphBody is the part of a Graph that outlives it: what its cleanup needs.
type graphBody struct {
	dev     *Device
	kernels launched
	funcs   []*Function // which keep their modules loaded
	out     *output     // the device log, nil if no kernel writes to it
	uses    [][]use     // of the operations
	sources []callsite.Stack
	fails   bool // an operation may

	mu     sync.Mutex
	drv    driver.Graph // nil if there is nothing to do
	held   map[*block]struct{}
	last   *Stream // of the latest launch
	order  *Event  // for launches on several streams
	closed bool
}

// graph makes the graph of what was recorded, which it takes over.
func (r *recording) graph() (*Graph, error) {
	b := &graphBody{dev: r.dev, funcs: r.uses, uses: r.memory, sources: r.sources}
	if len(r.ops) > 0 {
		drv, err := driver.NewGraph(r.dev.drv, r.ops)
		if err != nil {
			return nil, r.dev.wrap(err)
		}
		b.drv = drv
	}
	for _, f := range r.uses {
		if !slices.Contains(b.kernels.names, f.info.Name) {
			b.kernels.names = append(b.kernels.names, f.info.Name)
		}
	}
	if r.out.buf != nil {
		b.out, r.out.graph = r.out, b
	}
	b.fails = b.out != nil || r.dev.ring.own && len(r.uses) > 0
	b.held, r.held, r.out = r.held, nil, nil
	r.forget()
	g := &Graph{body: b}
	g.cleanup = goruntime.AddCleanup(g, (*graphBody).drop, b)
	return g, nil
}

// Launch submits the graph's work to a stream of its device and returns. The work
// comes after what was submitted to the stream before, and after earlier launches of
// the graph. To launch kernels takes no memory of Go, or that of a copy if they write to
// the device log. What goes wrong in a kernel is the error of the buffers that depend on
// it, as with [Stream.Launch].
func (g *Graph) Launch(s *Stream) error {
	const op = "launch a graph"
	if err := s.usable(op); err != nil {
		return err
	}
	b := g.body
	switch {
	case s.dev != b.dev:
		return s.dev.invalid(op, "the graph is of "+b.dev.name)
	case s.rec != nil:
		return s.rec.refuse(op, "capture what the graph was made of")
	}
	err := b.launch(op, s)
	goruntime.KeepAlive(g)
	if err != nil || !s.dev.blocking {
		return err
	}
	return s.Sync()
}

func (b *graphBody) launch(op string, s *Stream) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return &driver.Error{Op: op, Device: b.dev.name, Kind: ErrClosed, Text: "the graph was closed"}
	}
	if b.drv == nil {
		return nil
	}
	if err := b.follow(s); err != nil {
		return err
	}
	if s.dev.captures.count.Load() != 0 {
		if err := s.dev.captures.admit(op, &touched{also: slices.Concat(b.uses...)}); err != nil {
			return err
		}
	}
	if err := s.dev.makeRoom(); err != nil {
		return err
	}
	name := s.log.add(&b.kernels)
	err := b.submit(s)
	if err != nil {
		name.Store(nil) // it never ran
	} else if s.dev.watches() {
		err = s.follow(&b.kernels, [3]int{}, [3]int{})
	}
	return s.dev.wrap(err)
}

func (b *graphBody) submit(s *Stream) error {
	if b.out != nil {
		b.out.mu.Lock()
		defer b.out.mu.Unlock()
		b.dev.setDirty(b.out, true)
		if !slices.Contains(b.out.on, s.out) {
			b.out.on = append(b.out.on, s.out)
		}
	}
	seq, noted := b.dev.ring.note(&touched{}, b.fails, b.out, b)
	defer noted.submit()
	if err := b.run(s.drv, seq); err != nil || b.out == nil {
		return err
	}
	return b.out.replayed(s.drv, seq)
}

func (b *graphBody) run(s driver.Stream, seq uint64) error {
	if n, ok := b.drv.(driver.Numbered); ok {
		return n.LaunchAs(s, seq)
	}
	return b.drv.Launch(s)
}

// follow orders the graph's next launch behind its latest, where that was on another
// stream.
func (b *graphBody) follow(s *Stream) (err error) {
	last := b.last
	if last == nil || last == s {
		b.last = s
		return nil
	}
	if b.order == nil {
		if b.order, err = b.dev.NewEvent(); err != nil {
			return err
		}
	}
	if err = last.Record(b.order); err != nil {
		return err
	}
	b.last = s
	return s.Wait(b.order)
}

// Close gives the graph up: what it holds is given back when the launches so far are
// done. Closing it again does nothing. A graph that is not closed is when Go collects
// it.
func (g *Graph) Close() error {
	g.cleanup.Stop()
	return g.body.close()
}

// drop closes a graph that was collected. That may wait, which must not hold up other
// cleanups.
func (b *graphBody) drop() { go b.dev.cleanUp(b.close) }

func (b *graphBody) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.dev.closed.Load() {
		b.closed = true
		return nil
	}
	b.closed = true
	var first error
	keep := func(err error) {
		if first == nil {
			first = b.dev.wrap(err)
		}
	}
	if b.drv != nil {
		keep(b.drv.Close())
	}
	for block := range b.held {
		keep(b.dev.blocks.letGo(block))
	}
	if b.out != nil {
		b.dev.retireOutput(b.out)
	}
	b.drv, b.held, b.funcs, b.last, b.order = nil, nil, nil, nil, nil
	return first
}
