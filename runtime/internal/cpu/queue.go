package cpu

import (
	"errors"
	"sync"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// maxPending bounds the queue, so that a program which launches faster than
// the machine computes waits instead of filling memory.
const maxPending = 4096

// smallArgs is the size of an argument block that needs no memory of its own.
const smallArgs = 128

// task is one entry of the queue: a launch, or any other work as a function.
type task struct {
	s      *stream
	fn     *function // the kernel, or nil
	grid   [3]int
	block  [3]int
	nargs  int
	small  [smallArgs]byte // the arguments, if they fit
	large  []byte          // else here
	seq    uint64
	op     int
	work   func()
	always bool // runs even when the device is closed: frees, events
}

// queue runs tasks in order on a goroutine that exists while there are any. What
// is short, or waited for, is done on the goroutine that submits it if nothing is
// before it. Two slices swap roles, so that submitting a launch reuses the memory of an
// earlier one and allocates nothing.
type queue struct {
	mu      sync.Mutex
	moved   sync.Cond // completed grew
	in      []task    // submitted, in[:n]
	n       int
	out     []task            // being worked off
	seq     uint64            // submitted so far
	done    uint64            // completed so far
	waiting int               // goroutines in moved.Wait
	running bool              // some goroutine works for the queue
	closed  bool              // the device is, and work fails
	worker  func()            // run, as a value made once: starting it allocates nothing
	failed  map[*stream]error // the first failure that no Sync has reported
	report  func(driver.Failure) error
	lost    error    // a kernel that could not be ended runs on: nothing runs any more
	held    []func() // frees and the like that will not be done

	// The kernel that runs: of a launch on the goroutine that makes it, or of a task.
	inline *driver.Launch
	kernel *function
	task   *task
}

func newQueue() *queue {
	q := &queue{failed: map[*stream]error{}}
	q.moved.L = &q.mu
	q.worker = q.run
	return q
}

// begin makes the calling goroutine the one that works for the queue, if nothing
// is queued, until it calls end. The lock is held.
func (q *queue) begin() bool {
	if q.running || q.closed || q.lost != nil || q.n > 0 {
		return false
	}
	q.running = true
	q.seq++
	return true
}

// end completes the task that was begun; err is that of the kernel, if it was one.
func (q *queue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inline, q.kernel = nil, nil
	q.lose(err)
	q.complete()
	if q.running = q.n > 0; q.running {
		go q.worker()
	}
}

// complete records that a task ended, with the lock held.
func (q *queue) complete() {
	q.done++
	if q.waiting > 0 {
		q.moved.Broadcast()
	}
}

// atOnce does work now, on the calling goroutine, if nothing is before it. It
// reports whether that was so.
func (q *queue) atOnce(work func()) bool {
	q.mu.Lock()
	now := q.begin()
	q.mu.Unlock()
	if now {
		work()
		q.end(nil)
	}
	return now
}

// fail notes the failure of a kernel, before its task is complete.
func (q *queue) fail(s *stream, f driver.Failure) {
	q.mu.Lock()
	report := q.report
	q.mu.Unlock()
	if report != nil {
		f.Err = report(f)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failed[s] == nil {
		q.failed[s] = f.Err
	}
	q.lose(f.Err)
}

// lose gives the queue up if the error is that of a kernel that could not be ended, with the
// lock held.
func (q *queue) lose(err error) {
	if e, ok := err.(*driver.Error); ok && e.Sticky {
		q.lost = err
	}
}

// submit queues work and returns its number.
func (q *queue) submit(s *stream, always bool, work func()) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.slot(always)
	t.s, t.always, t.work = s, always, work
	return q.add()
}

// launch queues a kernel, or runs a short one. The arguments are copied.
func (q *queue) launch(s *stream, fn *function, l *driver.Launch) {
	if ran, err := q.launchNow(fn, l); ran {
		if err != nil {
			q.fail(s, driver.Failure{Seq: l.Seq, Op: l.Op, Err: err})
		}
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.slot(false)
	t.seq, t.op = l.Seq, l.Op
	t.s, t.fn, t.grid, t.block, t.nargs = s, fn, l.Grid, l.Block, len(l.Args)
	if copy(t.small[:], l.Args) < len(l.Args) {
		t.large = append([]byte(nil), l.Args...)
	}
	q.add()
}

// launchNow runs a short kernel if nothing is before it, and reports whether it did. Nobody
// can rely on the launch before it returns, so a failure is noted after that.
func (q *queue) launchNow(fn *function, l *driver.Launch) (ran bool, err error) {
	if !fn.short(l.Grid) {
		return false, nil
	}
	q.mu.Lock()
	if ran = q.begin(); ran {
		q.inline, q.kernel = l, fn
	}
	q.mu.Unlock()
	if ran {
		err = fn.run(l.Grid, l.Block, l.Args)
		q.end(err)
	}
	return ran, err
}

// slot returns the next free entry, with the lock held. What always runs finds room, so that
// an event can be recorded behind a kernel that does not end.
func (q *queue) slot(always bool) *task {
	for q.n >= maxPending && !always {
		q.block()
	}
	if q.n == len(q.in) {
		q.in = append(q.in, task{})
	}
	return &q.in[q.n]
}

// add completes a submission.
func (q *queue) add() uint64 {
	q.n++
	q.seq++
	if !q.running {
		q.running = true
		go q.worker()
	}
	return q.seq
}

// errClosed is how work for a closed device ends.
var errClosed = &driver.Error{Op: "use the device", Device: deviceName, Kind: driver.ErrClosed}

// close waits until all work is done and has later work fail. Work that ends with it,
// frees and events, is still done.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.done < q.seq {
		q.block()
	}
	q.closed = true
}

// block waits, with the lock held, until the worker has moved on.
func (q *queue) block() {
	q.waiting++
	q.moved.Wait()
	q.waiting--
}

// refuses returns why work is refused, nil if it is not.
func (q *queue) refuses() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.refusal(false)
}

// refusal is refuses of work, or of what always runs, with the lock held.
func (q *queue) refusal(always bool) error {
	switch {
	case q.lost != nil:
		return q.lost
	case q.closed && !always:
		return errClosed
	}
	return nil
}

func (q *queue) last() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seq
}

func (q *queue) isDone(seq uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.done >= seq
}

// idle reports whether all that was submitted is done, and no kernel runs.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.done == q.seq && q.lost == nil
}

// wait returns when the task with that number is done.
func (q *queue) wait(seq uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.done < seq {
		q.block()
	}
}

// takeErrors returns and clears the failure of s, or those of all streams.
func (q *queue) takeErrors(s *stream) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s != nil {
		err := q.failed[s]
		delete(q.failed, s)
		return err
	}
	if len(q.failed) == 0 {
		return nil
	}
	var list []error
	for s, err := range q.failed {
		list = append(list, err)
		delete(q.failed, s)
	}
	if len(list) == 1 {
		return list[0]
	}
	return errors.Join(list...)
}

// run works the queue off and ends when it is empty.
func (q *queue) run() {
	q.mu.Lock()
	for q.n > 0 {
		batch := q.in[:q.n]
		q.in, q.out, q.n = q.out, q.in, 0
		for i := range batch {
			t := &batch[i]
			refusal := q.refusal(t.always)
			if refusal != nil && q.failed[t.s] == nil {
				q.failed[t.s] = refusal
			}
			if refusal != nil && t.always {
				q.held = append(q.held, t.work)
			}
			q.task = t
			q.mu.Unlock()
			if refusal == nil {
				if err := t.run(); err != nil {
					q.fail(t.s, driver.Failure{Seq: t.seq, Op: t.op, Err: err})
				}
			}
			q.mu.Lock()
			q.task = nil
			t.fn, t.work, t.large, t.s, t.always = nil, nil, nil, nil, false
			q.complete()
		}
	}
	q.running = false
	q.mu.Unlock()
}

// run executes the task.
func (t *task) run() error {
	if t.fn == nil {
		t.work()
		return nil
	}
	args := t.large
	if t.nargs <= smallArgs {
		args = t.small[:t.nargs]
	}
	return t.fn.run(t.grid, t.block, args)
}
