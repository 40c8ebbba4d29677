package runtime

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/gokiln/kiln/internal/callsite"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Capture calls fn with a stream that runs nothing: the launches, copies between
// device and pinned memory, and fills that are submitted to it become a [Graph].
// Their arguments are fixed; what they read from memory is read by each launch of
// the graph. Streams that [Stream.Fork] makes of the stream belong to the capture,
// and are ordered by events that are recorded and waited for in it.
//
// What a graph cannot hold is refused with [ErrCapturing]: to wait for the stream or
// an event, and to copy from or to memory of Go. Memory that the graph uses is lent to
// it until Capture returns: no other stream may write it, or read what the graph writes,
// whichever goroutine submits that, and what another stream has written since Capture
// began the graph cannot use. That would be missing in the graph, and is refused with an
// error that names both lines. Capture returns the error of fn, or the first of these where
// fn returns none. Memory that fn allocates is there at once, and compiling kernels is
// allowed.
//
// The stream is of no use when fn has returned. Work with other memory is not disturbed.
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
	memory [][]use // that the operations use

	sources []callsite.Stack // of the operations

	lent    map[*block]lent     // what the operations use
	outside map[*block]*outside // what other streams have written since the recording began

	unused map[int64][]*allocation // that were freed, by their sizes: see [recording.spare]
	forked bool

	events map[driver.Event][]int // after which operations they were recorded
	held   map[*block]struct{}
	uses   []*Function
}

func newRecording(d *Device) *recording {
	return &recording{
		dev: d, out: new(output), events: map[driver.Event][]int{}, held: map[*block]struct{}{},
		lent: map[*block]lent{}, outside: map[*block]*outside{},
	}
}

// stream returns a stream of the recording that continues where another is.
func (r *recording) stream(from *track) *Stream {
	t := &track{rec: r}
	if from != nil {
		r.mu.Lock()
		r.forked = true
		t.last = slices.Clone(from.last)
		r.mu.Unlock()
	}
	return &Stream{dev: r.dev, drv: t, log: new(launchLog), out: r.out, rec: r}
}

// run calls the function that submits the operations.
func (r *recording) run(fn func(*Stream) error) error {
	defer r.end()
	defer r.dev.captures.begin(r)()
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
	r.out = nil
	r.forget()
}

// forget drops what the recording had, as memory that was allocated in it refers to it.
func (r *recording) forget() {
	r.ops, r.memory, r.sources, r.uses, r.events = nil, nil, nil, nil, nil
	r.lent, r.outside, r.unused = nil, nil, nil
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
	return r.failed(op, way)
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
func (t *track) add(name string, op driver.Op, memory ...memoryUse) error {
	r := t.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return r.over(name)
	}
	blocks := &r.dev.blocks
	uses := make([]use, 0, len(memory))
	for _, m := range memory {
		b := blocks.hold(m.addr, false, r.held)
		if b == nil {
			b = blocks.hold(m.addr, true, r.held)
		}
		if b == nil {
			return &driver.Error{Op: name, Device: r.dev.name, Kind: ErrFreed}
		}
		if m.access == Writes && m.size == b.size {
			m.access = Sets
		}
		uses = append(uses, use{b, m.access})
	}
	return t.append(name, op, uses)
}

// memoryUse is memory that an operation uses, of size bytes in one piece; 0 if it is not.
type memoryUse struct {
	addr   driver.Addr
	access Access
	size   int64
}

// append adds an operation, with the recording's lock held.
func (t *track) append(name string, op driver.Op, uses []use) error {
	r := t.rec
	if err := r.lend(name, uses); err != nil {
		return err
	}
	op.After = t.last
	op.Launch.Op = r.note(uses)
	t.last = []int{len(r.ops)}
	r.ops = append(r.ops, op)
	return nil
}

// note notes what an operation uses, with the lock held, and returns its number.
func (r *recording) note(uses []use) int {
	r.memory = append(r.memory, uses)
	var s callsite.Stack
	s.Capture(1)
	r.sources = append(r.sources, s)
	return len(r.memory)
}

// touch notes an operation that runs nothing.
func (t *track) touch(uses ...use) error {
	t.rec.mu.Lock()
	defer t.rec.mu.Unlock()
	if t.rec.ended {
		return t.rec.over("use a buffer")
	}
	t.rec.note(uses)
	return nil
}

// launch records a kernel. The memory that the graph has to hold is read off its arguments: every
// aligned word that is an address in a buffer counts. A number that looks like one holds a
// buffer for no reason, which does no harm.
func (t *track) launch(f driver.Function, l *driver.Launch, m *touched, logged bool) error {
	r := t.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return r.over("launch " + f.Info().Name)
	}
	for args := l.Args; len(args) >= 8; args = args[8:] {
		r.dev.blocks.hold(driver.Addr(binary.LittleEndian.Uint64(args)), false, r.held)
	}
	uses := append([]use(nil), m.also...)
	for _, u := range m.uses {
		if u.Buf != nil {
			uses = append(uses, use{&u.Buf.mem.block, u.Access})
		}
	}
	op := driver.Op{Kernel: f, Launch: driver.Launch{Grid: l.Grid, Block: l.Block, Shared: l.Shared,
		Cooperative: l.Cooperative, Params: l.Params, Args: bytes.Clone(l.Args)}}
	if err := t.append("launch "+f.Info().Name, op, uses); err != nil {
		return err
	}
	if logged { // the log knows the operation by its number, which ends the arguments
		binary.LittleEndian.PutUint32(op.Launch.Args[len(l.Args)-8:], uint32(len(r.memory)))
	}
	return nil
}

// Launch records a kernel of which only the arguments are known.
func (t *track) Launch(f driver.Function, l *driver.Launch) error {
	return t.launch(f, l, &touched{also: t.rec.dev.blocks.words(nil, l.Args)}, false)
}

func (t *track) Copy(dst, src driver.Addr, size int64) error {
	return t.add("copy", driver.Op{Dst: dst, Src: src, Width: size, Rows: 1}, memoryUse{dst, Writes, size}, memoryUse{src, Reads, size})
}

func (t *track) Copy2D(dst driver.Addr, dstPitch int64, src driver.Addr, srcPitch int64, width, height int64) error {
	return t.add("copy a rectangle", driver.Op{Dst: dst, DstPitch: dstPitch, Src: src, SrcPitch: srcPitch, Width: width, Rows: height}, memoryUse{dst, Writes, 0}, memoryUse{src, Reads, 0})
}

func (t *track) Fill(dst driver.Addr, value byte, size int64) error {
	return t.add("fill", driver.Op{Fill: true, Value: value, Dst: dst, Width: size}, memoryUse{dst, Writes, size})
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

// UploadFrom reads nothing.
func (t *track) UploadFrom(driver.Addr, int64, func([]byte, int64) error) error {
	return t.Upload(0, nil)
}

func (t *track) Download([]byte, driver.Addr) error {
	return t.rec.refuse("copy to host", "copy when the graph was launched, or to pinned memory with CopyToPinned")
}

func (t *track) Sync() error {
	return t.rec.refuse("wait for the stream", "wait when the graph was launched")
}

// Close has nothing to give back.
func (t *track) Close() error { return nil }

// spare returns memory of a size that was allocated in the recording and freed there, nil if there
// is none: what uses it next comes behind what did, so that a graph has no more memory at a time
// than its work without a graph. With concurrent streams there is no such order. r may be nil.
func (r *recording) spare(size int64) *allocation {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.unused[size]
	if r.ended || r.forked || len(list) == 0 {
		return nil
	}
	m := list[len(list)-1]
	r.unused[size] = list[:len(list)-1]
	r.dev.blocks.want(&m.block)
	m.turn.Add(1)
	m.freed.Store(false)
	return m
}

// putBack takes memory that was freed while only the recording holds it. r may be nil.
func (r *recording) putBack(m *allocation) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	if _, held := r.held[&m.block]; !held {
		return
	}
	if r.unused == nil {
		r.unused = map[int64][]*allocation{}
	}
	r.unused[m.size] = append(r.unused[m.size], m)
}
