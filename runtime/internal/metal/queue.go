package metal

import (
	goruntime "runtime"
	"slices"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Operations in flight to the GPU, and waiting for them.

const (
	// inFlight is how many command buffers of a queue may be in flight. Metal blocks
	// who wants more, which must not happen with the lock held; see enter.
	inFlight = 512
	// patience is how long the host waits for an event, in milliseconds, before it
	// looks for operations that have failed: they do not signal it.
	patience = 10
)

// stream is a command queue. Operations have numbers, which rise over all streams of
// the device, and each signals its number on the event of its stream when it is done.
// The fields are guarded by the device's lock.
type stream struct {
	dev     *device
	queue   uintptr     // id<MTLCommandQueue>
	event   uintptr     // id<MTLSharedEvent>
	last    uint64      // number of the latest operation
	done    uint64      // all operations up to this one are done
	pending []operation // those that are not
	after   []point     // what the next operation waits for
	failed  failure     // not reported yet
}

// operation is a command buffer that was committed.
type operation struct {
	buffer uintptr // id<MTLCommandBuffer>
	number uint64
	kernel string // "" if it is none
	seq    uint64 // of the launch, see driver.Launch
	op     int
	mark   *event // to be notified when it was done, or nil
}

// point is an operation of a stream.
type point struct {
	stream *stream
	number uint64
}

// failure is the error of an operation.
type failure struct {
	number uint64
	err    error
}

// passed reports whether the operation is done, with the lock held.
func (p point) passed() bool { return p.number <= p.stream.done }

func (d *device) newStream() (*stream, error) {
	s := &stream{dev: d, queue: d.own(d.lib.send(d.handle, d.lib.newQueue, inFlight)), event: d.own(d.lib.send(d.handle, d.lib.newEvent))}
	if s.queue == 0 || s.event == 0 {
		d.disown(s.queue)
		d.disown(s.event)
		return nil, d.invalid("create a stream", "Metal makes no command queue")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams = append(d.streams, s)
	return s, nil
}

// enter takes the device's lock when the queue has room for another operation.
func (s *stream) enter() {
	d := s.dev
	for {
		d.mu.Lock()
		d.reap()
		if len(s.pending) < inFlight {
			return
		}
		first := point{s, s.pending[0].number}
		d.mu.Unlock()
		d.wait(first)
	}
}

// begin opens a command buffer that waits for what comes before it: the operation
// before in this stream, and in the default stream; in the default stream those of all
// others; and events. It is called between enter and the end of the lock, with a pool
// in place.
func (s *stream) begin(op string) (uintptr, error) {
	d := s.dev
	cb := d.msg(s.queue, d.lib.commandBuffer, 0, 0, 0, 0)
	if cb == 0 {
		return 0, d.invalid(op, "Metal makes no command buffer")
	}
	d.msg(cb, d.lib.retain, 0, 0, 0, 0)
	for _, o := range d.streams {
		if (o == s || o == d.def || s == d.def) && o.last > o.done {
			d.msg(cb, d.lib.waitFor, o.event, uintptr(o.last), 0, 0)
		}
	}
	for _, p := range s.after {
		if !p.passed() {
			d.msg(cb, d.lib.waitFor, p.stream.event, uintptr(p.number), 0, 0)
		}
	}
	return cb, nil
}

// commit submits what was encoded.
func (s *stream) commit(cb uintptr, o operation) {
	d := s.dev
	d.next++
	s.last = d.next
	s.after = s.after[:0]
	d.msg(cb, d.lib.signal, s.event, uintptr(s.last), 0, 0)
	d.msg(cb, d.lib.commit, 0, 0, 0, 0)
	o.buffer, o.number = cb, s.last
	if len(s.pending) == cap(s.pending) {
		s.pending = slices.Grow(s.pending, 64)
	}
	s.pending = append(s.pending, o)
}

// reap takes note of operations that are done.
func (d *device) reap() {
	before := d.finished()
	for _, s := range d.streams {
		s.reap()
	}
	if d.finished() != before {
		d.memory.reclaim(d)
	}
}

func (s *stream) reap() {
	d, n := s.dev, 0
	for ; n < len(s.pending); n++ {
		o := &s.pending[n]
		status := d.msg(o.buffer, d.lib.status, 0, 0, 0, 0)
		if status < statusCompleted {
			break
		}
		if status == statusError || o.mark != nil {
			token := d.call(d.lib.push, 0)
			s.note(o, status == statusError)
			d.call(d.lib.pop, token)
		}
		s.done = o.number
		d.msg(o.buffer, d.lib.release, 0, 0, 0, 0)
	}
	if n > 0 {
		s.pending = s.pending[:copy(s.pending, s.pending[n:])]
	}
}

// note takes note of an operation that is done and has failed or been waited for.
func (s *stream) note(o *operation, failed bool) {
	d := s.dev
	if failed {
		err := d.failure(o)
		if d.report != nil && o.mark == nil { // an event computes nothing
			err = d.report(driver.Failure{Seq: o.seq, Op: o.op, Err: err})
		}
		if s.failed.err == nil {
			s.failed = failure{o.number, err}
		}
		d.msg(s.event, d.lib.setSignaled, uintptr(o.number), 0, 0, 0) // it did not itself
	}
	if o.mark != nil {
		o.mark.reached(o)
	}
}

// finished is the number up to which the operations of all streams are done.
func (d *device) finished() uint64 {
	n := d.next
	for _, s := range d.streams {
		if len(s.pending) > 0 {
			n = min(n, s.pending[0].number-1)
		}
	}
	return n
}

// failure is the error of an operation that failed.
func (d *device) failure(o *operation) error {
	err := d.msg(o.buffer, d.lib.error, 0, 0, 0, 0)
	e := &driver.Error{Device: d.info.Name, Name: "MTLCommandBufferError", Code: int(d.msg(err, d.lib.code, 0, 0, 0, 0)),
		Text: dl.Text(d.msg(d.msg(err, d.lib.description, 0, 0, 0, 0), d.lib.utf8, 0, 0, 0, 0)), Kind: driver.ErrLaunch}
	if e.Code == errorOutOfMemory {
		e.Kind = driver.ErrOutOfMemory
	}
	if o.kernel != "" {
		e.Kernels = []string{o.kernel}
	}
	return e
}

// ---- waiting

// wait waits for an operation and those before it in its stream. An operation that
// waits for one of another stream waits for ever if that fails, until reap has
// signalled in its stead: so the host looks up now and then.
func (d *device) wait(p point) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	for {
		first, number := p.stream.first(p.number)
		if first == 0 {
			return
		}
		if d.lib.send(p.stream.event, d.lib.waitValue, uintptr(number), patience)&0xff != 0 {
			d.lib.send(first, d.lib.waitDone)
		}
		d.lib.send(first, d.lib.release)
	}
}

// first is the first operation up to a number that is not done, retained, and its
// number; 0 if there is none.
func (s *stream) first(number uint64) (buffer uintptr, its uint64) {
	d := s.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reap()
	if len(s.pending) == 0 || s.pending[0].number > number {
		return 0, 0
	}
	return d.msg(s.pending[0].buffer, d.lib.retain, 0, 0, 0, 0), s.pending[0].number
}

// points are the latest operations of the streams that are wanted.
func (d *device) points(wanted func(*stream) bool) (list []point) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.streams {
		if wanted(s) && s.last > s.done {
			list = append(list, point{s, s.last})
		}
	}
	return list
}

// waitAll waits for all streams.
func (d *device) waitAll() {
	for _, p := range d.points(func(*stream) bool { return true }) {
		d.wait(p)
	}
}

// settle waits for what an operation of the stream would wait for.
func (s *stream) settle() {
	d := s.dev
	list := d.points(func(o *stream) bool { return o == s || o == d.def || s == d.def })
	d.mu.Lock()
	list = append(list, s.after...)
	d.mu.Unlock()
	for _, p := range list {
		d.wait(p)
	}
}

// Sync waits for the stream, the default stream for all.
func (s *stream) Sync() error {
	d := s.dev
	if s == d.def {
		return d.Sync()
	}
	d.mu.Lock()
	p := point{s, s.last}
	d.mu.Unlock()
	return s.report(p)
}

// report waits, and returns what has failed in the stream and was not reported.
func (s *stream) report(p point) error {
	s.dev.wait(p)
	s.dev.mu.Lock()
	defer s.dev.mu.Unlock()
	err := s.failed.err
	s.failed = failure{}
	return err
}

// Close waits, and leaves what has failed to the default stream.
func (s *stream) Close() error {
	d := s.dev
	d.mu.Lock()
	p := point{s, s.last}
	i := slices.Index(d.streams, s)
	d.mu.Unlock()
	if i < 0 {
		return nil // the device was closed
	}
	d.wait(p)
	d.mu.Lock()
	d.streams = slices.DeleteFunc(d.streams, func(o *stream) bool { return o == s })
	if d.def.failed.err == nil {
		d.def.failed = s.failed
	}
	d.mu.Unlock()
	d.disown(s.queue)
	d.disown(s.event)
	return nil
}
