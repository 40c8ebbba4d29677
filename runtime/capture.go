package runtime

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Capture calls fn with a stream that runs nothing: the launches, copies between
// device and pinned memory, and fills that are submitted to it become a [Graph].
// Their arguments are fixed; what they read from memory is read by each launch of
// the graph. Streams that [Stream.Fork] makes of the stream belong to the capture,
// and are ordered by events that are recorded and waited for in it.
//
// What a graph cannot hold is refused with [ErrCapturing]: to wait for the stream or
// an event, and to copy from or to memory of Go. So are, on fn's goroutine, the
// functions that use the default stream, since they would not be part of the graph;
// fn can use any other stream. Capture returns the error of fn, or the first of
// these where fn returns none. Memory that fn allocates on its stream is there at
// once, and compiling kernels is allowed.
//
// The stream is of no use when fn has returned. Other goroutines are not disturbed.
func (d *Device) Capture(fn func(s *Stream) error) (*Graph, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	rec := newRecording(d)
	// For a failure, and for an fn that panics or ends its goroutine; a graph
	// takes what this would give back.
	defer rec.abandon()
	if err := rec.run(fn); err != nil {
		return nil, err
	}
	return rec.graph()
}

// Fork returns a new stream that continues where s is: its work comes after what was
// submitted to s so far, and may overlap with what is submitted to s from now on.
func (s *Stream) Fork() (*Stream, error) {
	if err := s.usable("fork a stream"); err != nil {
		return nil, err
	}
	if t, ok := s.drv.(*track); ok {
		return t.rec.stream(t), nil
	}
	fork, err := s.dev.NewStream()
	if err != nil {
		return nil, err
	}
	here, err := s.dev.NewEvent()
	if err != nil {
		return nil, err
	}
	if err := s.Record(here); err != nil {
		return nil, err
	}
	return fork, fork.Wait(here)
}

// recording is a graph that is being captured.
type recording struct {
	dev    *Device
	out    *output // the device log of its kernels
	mu     sync.Mutex
	ended  bool
	err    error // of the first call that was refused
	ops    []driver.Op
	events map[driver.Event][]int // after which operations they were recorded
	held   map[*block]struct{}
	uses   []*Function
}

func newRecording(d *Device) *recording {
	return &recording{dev: d, out: new(output), events: map[driver.Event][]int{}, held: map[*block]struct{}{}}
}

// stream returns a stream of the recording that continues where another is.
func (r *recording) stream(from *track) *Stream {
	t := &track{rec: r}
	if from != nil {
		r.mu.Lock()
		t.last = slices.Clone(from.last)
		r.mu.Unlock()
	}
	return &Stream{dev: r.dev, drv: t, log: new(launchLog), out: r.out, rec: r}
}

// run calls the function that submits the operations.
func (r *recording) run(fn func(*Stream) error) error {
	defer r.end()
	defer r.dev.capturing.begin(r)()
	if err := fn(r.stream(nil)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *recording) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// abandon gives back what no graph has taken.
func (r *recording) abandon() {
	for b := range r.held {
		// There is a failure already, which goes first.
		_ = r.dev.blocks.letGo(b)
	}
	r.held = nil
	if r.out != nil {
		r.dev.retireOutput(r.out)
	}
}

// use notes a kernel that is launched.
func (r *recording) use(f *Function) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.uses, f) {
		r.uses = append(r.uses, f)
	}
}

// usable reports why the streams cannot be used for an operation, nil if they can.
func (r *recording) usable(op string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return r.over(op)
	}
	return nil
}

// refuse is the error of what a graph cannot hold. The capture fails with it.
func (r *recording) refuse(op, way string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return r.over(op)
	}
	err := &driver.Error{Op: op, Device: r.dev.name, Kind: ErrCapturing, Text: ErrCapturing.Error() + ": " + way}
	if r.err == nil {
		r.err = err
	}
	return err
}

// refuseEvent is the error of asking for an event that was recorded in the capture.
func (r *recording) refuseEvent(op string) error {
	const way = "the event was recorded in a capture, which runs nothing; record it on the stream that the graph is launched on"
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	if ended {
		return r.dev.invalid(op, way)
	}
	return r.refuse(op, way)
}

// over is the error of a stream that was used after its capture.
func (r *recording) over(op string) error {
	return r.dev.invalid(op, "the stream is that of a capture which has ended")
}

// track is one stream of a recording, as a driver's.
type track struct {
	rec  *recording
	last []int // the operations that the next one comes after
}

// add appends an operation. Memory that it copies or fills must be there.
func (t *track) add(name string, op driver.Op, memory ...driver.Addr) error {
	r := t.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return r.over(name)
	}
	blocks := &r.dev.blocks
	for _, a := range memory {
		if !blocks.hold(a, false, r.held) && !blocks.hold(a, true, r.held) {
			return &driver.Error{Op: name, Device: r.dev.name, Kind: ErrFreed}
		}
	}
	// Which memory a kernel uses only its arguments tell: every aligned word that is
	// an address in a buffer counts. A number that looks like one holds a buffer for
	// no reason, which does no harm.
	for args := op.Launch.Args; len(args) >= 8; args = args[8:] {
		blocks.hold(driver.Addr(binary.LittleEndian.Uint64(args)), false, r.held)
	}
	op.After = t.last
	t.last = []int{len(r.ops)}
	r.ops = append(r.ops, op)
	return nil
}

// Launch records a kernel.
func (t *track) Launch(f driver.Function, l *driver.Launch) error {
	return t.add("launch "+f.Info().Name, driver.Op{Kernel: f, Launch: driver.Launch{Grid: l.Grid, Block: l.Block, Shared: l.Shared, Args: bytes.Clone(l.Args)}})
}

func (t *track) Copy(dst, src driver.Addr, size int64) error {
	return t.add("copy", driver.Op{Dst: dst, Src: src, Width: size, Rows: 1}, dst, src)
}

func (t *track) Copy2D(dst driver.Addr, dstPitch int64, src driver.Addr, srcPitch int64, width, height int64) error {
	return t.add("copy a rectangle", driver.Op{Dst: dst, DstPitch: dstPitch, Src: src, SrcPitch: srcPitch, Width: width, Rows: height}, dst, src)
}

func (t *track) Fill(dst driver.Addr, value byte, size int64) error {
	return t.add("fill", driver.Op{Fill: true, Value: value, Dst: dst, Width: size}, dst)
}

// Record notes where the stream is.
func (t *track) Record(e driver.Event) error {
	r := t.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return r.over("record event")
	}
	r.events[e] = slices.Clone(t.last)
	return nil
}

// Wait has the next operation come after those that were there at the event, which
// was recorded in this capture.
func (t *track) Wait(e driver.Event) error {
	r := t.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return r.over("wait for event")
	}
	t.last = slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.last, r.events[e]))))
	return nil
}

// Alloc allocates at once, as the graph will use the memory time and again.
func (t *track) Alloc(size int64) (driver.Addr, error) { return t.rec.dev.def.drv.Alloc(size) }

// Free frees memory that the graph does not hold.
func (t *track) Free(a driver.Addr, size int64) error { return t.rec.dev.def.drv.Free(a, size) }

func (t *track) Upload(driver.Addr, []byte) error {
	return t.rec.refuse("copy from host", "copy from pinned memory, which each launch of the graph reads, with CopyFromPinned")
}

func (t *track) Download([]byte, driver.Addr) error {
	return t.rec.refuse("copy to host", "copy when the graph was launched, or to pinned memory with CopyToPinned")
}

func (t *track) Sync() error {
	return t.rec.refuse("wait for the stream", "wait when the graph was launched")
}

// Close has nothing to give back.
func (t *track) Close() error { return nil }
