package runtime

import (
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"

	"github.com/gokiln/kiln/internal/callsite"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Access is what work does with a buffer.
type Access uint8

// The kinds of access, which can be combined.
const (
	Reads  Access = 1 << iota
	Writes        // some of it
	Sets          // all of it, and what it held does not matter
)

// Use is a buffer that a launch uses.
type Use struct {
	Buf    *Buffer
	Access Access
}

// use is a piece of memory that an operation uses.
type use struct {
	block  *block
	access Access
}

const (
	ringSize = 4096 // entries; a power of two
	ringUses = 6    // of one entry; an operation that uses more takes several
)

// ring is the latest operations of a device with the memory that they read and write. When
// a kernel has failed, they are gone through once from there on, and what depends on its
// results is marked: see block.fault. Operations are noted only while there is a kernel
// before them that may fail still, or while memory is marked.
type ring struct {
	own  bool          // the driver says itself which kernel failed, and every kernel may
	next atomic.Uint64 // how many operations were noted; changes with the lock held
	risk atomic.Uint64 // behind the last of those that may fail; next if all may
	safe atomic.Uint64 // of those before it all failures are known

	marked atomic.Int64 // pieces of memory that are not released

	mu      sync.Mutex
	slots   *[ringSize]slot
	callers *[ringSize]callsite.Stack
}

type slot struct {
	blocks    [ringUses]*block
	access    [ringUses]Access
	n         uint8
	seq       uint64
	more      bool          // the next slot is of the same operation
	submitted atomic.Uint64 // the number of the operation behind it, once the driver has it
	out       *output       // the device log that the kernel may write to
	graph     *graphBody    // which was launched
}

// touched is the memory that an operation uses: both lists together. There is nothing else
// in it so that it stays on the stack of a launch.
type touched struct {
	uses []Use
	also []use
}

// place is an operation by its number in the ring, and that of the operation of a graph.
type place struct {
	seq uint64
	op  int
}

// idle reports whether operations that cannot fail need not be noted.
func (r *ring) idle() bool { return !r.risky() && r.marked.Load() == 0 }

// risky reports whether there may be failures that are not known.
func (r *ring) risky() bool {
	if r.own {
		return r.next.Load() > r.safe.Load()
	}
	return r.risk.Load() > r.safe.Load()
}

// note notes an operation before it is submitted, and returns its number and entry, nil if
// it need not be noted. It is one that may fail, or not, may write to a log, and may be a
// graph. The caller has made room, and calls submit of the entry afterwards.
func (r *ring) note(t *touched, fails bool, out *output, graph *graphBody) (uint64, *slot) {
	if !fails && r.idle() {
		return 0, nil
	}
	r.mu.Lock()
	if r.slots == nil {
		r.slots, r.callers = new([ringSize]slot), new([ringSize]callsite.Stack)
	}
	seq := r.next.Load()
	head := r.begin(seq)
	head.out, head.graph = out, graph
	s, last := head, seq
	for _, u := range t.uses {
		if u.Buf != nil {
			s, last = r.put(s, last, &u.Buf.mem.block, u.Access)
		}
	}
	for _, u := range t.also {
		s, last = r.put(s, last, u.block, u.access)
	}
	if fails {
		r.callers[seq%ringSize].Capture(1)
		if !r.own {
			r.risk.Store(last + 1)
		}
	}
	r.next.Store(last + 1)
	if r.marked.Load() != 0 {
		r.spread(seq, nil, marks{r})
	}
	r.mu.Unlock()
	return seq, head
}

func (r *ring) begin(seq uint64) *slot {
	s := &r.slots[seq%ringSize]
	s.n, s.more, s.out, s.graph, s.seq = 0, false, nil, nil, seq
	return s
}

// put adds a use to an entry, which continues in the next slot when one is full.
func (r *ring) put(s *slot, seq uint64, b *block, a Access) (*slot, uint64) {
	if s.n == ringUses {
		s.more = true
		seq++
		s = r.begin(seq)
		s.submit()
	}
	s.blocks[s.n], s.access[s.n] = b, a
	s.n++
	return s, seq
}

// submit notes that the operation was given to the driver.
func (s *slot) submit() {
	if s != nil {
		s.submitted.Store(s.seq + 1)
	}
}

// before returns up to which operations all were given to the driver: once the device has
// been waited for after that, they are done.
func (r *ring) before() uint64 {
	if r.idle() {
		return r.safe.Load()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.next.Load()
	for seq := r.first(); seq < next; seq++ {
		if r.slots[seq%ringSize].submitted.Load() != seq+1 {
			return seq
		}
	}
	return next
}

// first is the earliest operation whose failure may not be known.
func (r *ring) first() uint64 { return max(r.safe.Load(), r.oldest()) }

// oldest is the earliest operation that is still in the ring.
func (r *ring) oldest() uint64 {
	if next := r.next.Load(); next > ringSize {
		return next - ringSize
	}
	return 0
}

// done notes that the failures of the operations before seq are known.
func (r *ring) done(seq uint64) {
	for {
		have := r.safe.Load()
		if have >= seq || r.safe.CompareAndSwap(have, seq) {
			return
		}
	}
}

// full reports whether an operation would overwrite one that may fail still. Some room is
// kept for goroutines that learn at the same time that there is room.
func (r *ring) full() bool {
	const reserve = ringSize / 8
	safe := r.safe.Load()
	return r.risky() && r.next.Load()-safe >= ringSize-reserve
}

// origin is where an operation was launched, or captured.
func (r *ring) origin(p place) (s callsite.Stack) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slots == nil || p.seq >= r.next.Load() || p.seq < r.oldest() {
		return s
	}
	if g := r.slots[p.seq%ringSize].graph; g != nil && p.op > 0 && p.op <= len(g.sources) {
		return g.sources[p.op-1]
	}
	return r.callers[p.seq%ringSize]
}

// unsettled returns the operations whose failures are not known and that may write to a
// log: of a launch its number, of a graph those of its operations, if failed reports true for
// it.
func (r *ring) unsettled(o *output, failed func(seq uint64, number uint32) bool) (list []place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slots == nil {
		return nil
	}
	for seq, next := r.first(), r.next.Load(); seq < next; seq++ {
		s := &r.slots[seq%ringSize]
		switch {
		case s.out != o:
		case s.graph == nil:
			if failed(seq, uint32(seq+1)) {
				list = append(list, place{seq, 0})
			}
		default:
			for i := range s.graph.uses {
				if failed(seq, uint32(i+1)) {
					list = append(list, place{seq, i + 1})
				}
			}
		}
	}
	return list
}

// faults is which pieces of memory depend on a failure.
type faults interface {
	get(*block) *driver.Error
	set(*block, *driver.Error)
}

// found is what depends on some failures, as far as the ring was gone through.
type found map[*block]*driver.Error

func (f found) get(b *block) *driver.Error { return f[b] }

func (f found) set(b *block, e *driver.Error) {
	if e == nil {
		delete(f, b)
	} else if f[b] == nil {
		f[b] = e
	}
}

// marks is the marks of the memory itself.
type marks struct{ r *ring }

func (m marks) get(b *block) *driver.Error { return b.fault.Load() }

func (m marks) set(b *block, e *driver.Error) {
	have := b.fault.Load()
	switch {
	case e != nil && have == nil && !b.released.Load():
		b.fault.Store(e)
		m.r.marked.Add(1)
	case e == nil && have != nil:
		b.fault.Store(nil)
		m.r.marked.Add(-1)
	}
}

// spread goes over the uses of an operation, which may be one that failed. It returns the
// number of the next operation.
func (r *ring) spread(seq uint64, failed map[place]*driver.Error, in faults) uint64 {
	head := &r.slots[seq%ringSize]
	var room [2 * ringUses]use
	uses := room[:0]
	for s, at := head, seq; ; s = &r.slots[at%ringSize] {
		for i := range s.n {
			uses = append(uses, use{s.blocks[i], s.access[i]})
		}
		at++
		if !s.more {
			seq, at = at, seq
			flow(uses, failed[place{at, 0}], in)
			if g := head.graph; g != nil {
				for i, uses := range g.uses {
					flow(uses, failed[place{at, i + 1}], in)
				}
			}
			return seq
		}
	}
}

// flow has what an operation writes depend on what it reads, or on its own failure.
func flow(uses []use, failed *driver.Error, in faults) {
	for _, u := range uses {
		if failed == nil && u.access&(Reads|Writes) != 0 {
			failed = in.get(u.block)
		}
	}
	for _, u := range uses {
		switch {
		case u.access&(Writes|Sets) != 0 && failed != nil:
			in.set(u.block, failed)
		case u.access&Sets != 0:
			in.set(u.block, nil)
		}
	}
}

// blame marks what depends on operations that failed. If some are not in the ring any more
// it reports false.
func (r *ring) blame(failed map[place]*driver.Error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, next := r.next.Load(), r.next.Load()
	for p := range failed {
		if first = min(first, p.seq); p.seq >= next || p.seq < r.oldest() {
			return false
		}
	}
	if r.slots == nil {
		return false
	}
	f := found{}
	for seq := first; seq < next; {
		seq = r.spread(seq, failed, f)
	}
	for b, e := range f {
		marks{r}.set(b, e)
	}
	return true
}

// blameAll marks all memory there is.
func (d *Device) blameAll(e *driver.Error) {
	d.blocks.mu.Lock()
	defer d.blocks.mu.Unlock()
	d.ring.mu.Lock()
	defer d.ring.mu.Unlock()
	for _, side := range []*blocks{&d.blocks.device, &d.blocks.host} {
		for _, b := range side.list {
			marks{&d.ring}.set(b, e)
		}
	}
}

// forget takes the mark of memory that is released.
func (r *ring) forget(b *block) {
	b.released.Store(true)
	if b.fault.Load() == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	marks{r}.set(b, nil)
}

// clear lets go of all that the ring holds.
func (r *ring) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.safe.Store(r.next.Load())
	r.slots, r.callers = nil, nil
}

// makeRoom waits for the device where the ring would overwrite an operation that may fail
// still: a program that never waits does so once in some thousand launches.
func (d *Device) makeRoom() error {
	for d.ring.full() {
		if err := d.settle(); err != nil {
			return err
		}
		goruntime.Gosched() // to who has noted an operation and not submitted it yet
	}
	return nil
}

// settle waits until it is known which of the operations so far have failed.
func (d *Device) settle() error {
	if !d.ring.risky() {
		return nil
	}
	seq := d.ring.before()
	if err := d.wait(); err != nil {
		return err
	}
	if err := d.readOutputs(); err != nil {
		return err
	}
	d.ring.done(seq)
	return nil
}

// wait waits for all streams, without the failures that Sync of one reports.
func (d *Device) wait() error {
	if err := d.def.patience(); err != nil {
		return err
	}
	if r, ok := d.drv.(driver.Reporter); ok {
		r.Wait()
		return nil
	}
	return d.wrap(d.drv.Sync())
}

// failed is called by a driver that reports the failed kernel itself, before anybody who waits
// for the kernel goes on. It returns the error that the wait reports.
func (d *Device) failed(f driver.Failure) error {
	e, ok := f.Err.(*driver.Error)
	if !ok {
		e = &driver.Error{Device: d.name, Kind: driver.ErrLaunch, Cause: f.Err}
	}
	d.blame(e, place{f.Seq, f.Op})
	if e.Sticky && e.Kind == ErrTimeout {
		d.giveUp(e)
	}
	return e
}

// blame marks what depends on operations of which e is the error.
func (d *Device) blame(e *driver.Error, at ...place) {
	if len(at) > 0 && e.Origin == (callsite.Stack{}) {
		e.Origin = d.ring.origin(at[0])
	}
	failed := map[place]*driver.Error{}
	for _, p := range at {
		failed[p] = e
	}
	if len(at) == 0 || !d.ring.blame(failed) {
		lost := *e
		lost.Text = fmt.Sprintf("what was computed from its results is not known any more after %d launches, so all memory of the device counts", ringSize)
		d.blameAll(&lost)
	}
}

// Err is the error of the kernel that the content of the buffer depends on, as far as it is
// known: [Stream.Sync] waits for what is not. It is nil if there is none, and again when all
// of the buffer has been set by work that does not depend on the failure: a copy or fill of
// the whole, or what comes after [Stream.Discard].
func (b *Buffer) Err() error { return b.mem.failure() }

// failure is the error of a read, nil if there is none.
func (b *block) failure() error {
	e := b.fault.Load()
	if e == nil {
		return nil
	}
	return e.Read()
}

// Discard says that work which is submitted from now on sets all of the buffer before it
// reads any of it: an error of what the buffer held goes with it.
func (s *Stream) Discard(b *Buffer) error {
	if err := b.usable(); err != nil {
		return err
	}
	return s.noting("discard", use{&b.mem.block, Sets}, use{}, func() error {
		if t, ok := s.drv.(*track); ok {
			return t.touch(use{&b.mem.block, Sets})
		}
		return nil
	})
}

// Depend has what dst holds count as computed from what src holds, both buffers of the stream's
// device, for a result that no kernel reads the other for.
func (s *Stream) Depend(dst, src *Buffer) error {
	for _, b := range []*Buffer{dst, src} {
		if err := b.usable(); err != nil {
			return err
		}
	}
	to, from := use{&dst.mem.block, Writes}, use{&src.mem.block, Reads}
	return s.noting("depend", to, from, func() error {
		if t, ok := s.drv.(*track); ok {
			return t.touch(to, from)
		}
		return nil
	})
}

// noting submits an operation that cannot fail, and notes its uses before.
func (s *Stream) noting(op string, to, from use, submit func() error) error {
	d := s.dev
	if s.rec != nil || d.ring.idle() && d.captures.count.Load() == 0 {
		return d.wrap(submit())
	}
	both := [...]use{to, from}
	t := touched{also: both[:1]}
	if from.block != nil {
		t.also = both[:]
	}
	if err := d.captures.admit(op, &t); err != nil {
		return err
	}
	if err := d.makeRoom(); err != nil {
		return err
	}
	_, noted := d.ring.note(&t, false, nil, nil)
	err := submit()
	noted.submit()
	return d.wrap(err)
}
