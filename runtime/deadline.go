package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokiln/kiln/internal/callsite"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// SyncContext is [Stream.Sync] that waits no longer than the context lasts. The error is then
// [ErrTimeout] and the context's cause, and names the kernels that have not ended. Nothing else
// changes: the work goes on, and may be waited for again. [Device.SetLaunchTimeout] ends it.
//
// It bounds the wait for what was submitted before the call. A launch that the CPU runs on the
// goroutine that makes it has ended when the call begins, and what other goroutines submit to
// the stream while it waits may be waited for without the bound.
func (s *Stream) SyncContext(ctx context.Context) error {
	if ctx.Done() != nil {
		if err := s.usable("wait for the stream"); err != nil {
			return err
		}
		if err := s.reach(ctx); err != nil {
			return err
		}
	}
	return s.Sync()
}

// SetLaunchTimeout bounds how long each launch may take from when it is the first of the device
// that has not ended; 0, as at first, takes the bound away. A launch that takes longer is an
// [ErrTimeout] that names the kernel, the grid and the line that launched it.
//
// The CPU stops the kernel, which has failed then like any other. Where a kernel cannot be
// stopped (machine code of the CPU within a block, a GPU) the device is lost: calls that wait
// return the error, so does every later one, and neither the kernel nor the device's memory is
// ever given back. [Device.Close] does not wait then, and the CPU can be opened anew. On a GPU
// each launch takes an event more. The variable KILN_LAUNCH_TIMEOUT, as in 30s, sets the
// bound of every device.
func (d *Device) SetLaunchTimeout(t time.Duration) {
	t = max(t, 0)
	if l, ok := d.drv.(driver.Limiter); ok {
		l.Limit(t)
		return
	}
	d.watch.limit.Store(int64(t))
}

// launchTimeout reads KILN_LAUNCH_TIMEOUT.
func launchTimeout() (time.Duration, error) {
	v := os.Getenv("KILN_LAUNCH_TIMEOUT")
	if v == "" || v == "0" {
		return 0, nil
	}
	t, err := time.ParseDuration(v)
	if err != nil || t <= 0 {
		return 0, fmt.Errorf("KILN_LAUNCH_TIMEOUT=%s: want a duration such as 30s: %w", v, ErrInvalid)
	}
	return t, nil
}

// watchdog follows the launches of a device whose kernels have a bound of time and whose driver
// does not end them.
type watchdog struct {
	limit atomic.Int64 // nanoseconds, 0 for none

	mu      sync.Mutex
	list    []watched // launches not seen to have ended, the first submitted first
	events  []driver.Event
	running bool // some goroutine is in patrol
}

// watched is a launch, and the event behind it.
type watched struct {
	log         *launchLog // of the stream
	kernel      *launched
	grid, block [3]int // zero of a graph
	caller      callsite.Stack
	event       driver.Event
}

// maxWatched bounds how many launches may be in flight: drivers make those wait, without a
// bound of time, that find their queue full.
const maxWatched = 256

// watches reports whether launches are to be followed.
func (d *Device) watches() bool { return d.watch.limit.Load() > 0 }

// follow notes a launch that was just submitted to the stream.
func (s *Stream) follow(k *launched, grid, block [3]int) error {
	d, w := s.dev, &s.dev.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	for pause := newPause(time.Millisecond); len(w.list) >= maxWatched; {
		w.mu.Unlock()
		pause.sleep(nil)
		w.mu.Lock()
		if e := d.lost.Load(); e != nil {
			return e
		}
	}
	ev, err := w.event(d)
	if err != nil {
		return d.wrap(err)
	}
	if err := s.drv.Record(ev); err != nil {
		w.events = append(w.events, ev)
		return d.wrap(err)
	}
	entry := watched{log: s.log, kernel: k, grid: grid, block: block, event: ev}
	entry.caller.Capture(1)
	w.list = append(w.list, entry)
	if !w.running {
		w.running = true
		go d.patrol()
	}
	return nil
}

// event returns one that is not in use, with the lock held.
func (w *watchdog) event(d *Device) (driver.Event, error) {
	if n := len(w.events) - 1; n >= 0 {
		ev := w.events[n]
		w.events = w.events[:n]
		return ev, nil
	}
	return d.drv.NewEvent()
}

// giveBack keeps an event for the next use: to destroy one that is not reached may wait for it.
func (w *watchdog) giveBack(ev driver.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, ev)
}

// close destroys the events of a device that has no more work.
func (w *watchdog) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ev := range w.events {
		_ = ev.Close() // closing the device reports what is wrong with it
	}
	w.events = nil
}

// patrol looks at the first launch that has not ended until there is none, and gives the
// device up if it takes too long. Later ones may have to wait for it: their time begins when
// they are the first.
func (d *Device) patrol() {
	w := &d.watch
	since, pause := time.Now(), newPause(5*time.Millisecond)
	for {
		w.mu.Lock()
		limit := time.Duration(w.limit.Load())
		if len(w.list) == 0 || d.closed.Load() || d.lost.Load() != nil {
			w.running = false
			w.mu.Unlock()
			return
		}
		first := w.list[0]
		w.mu.Unlock()
		ended := true // as it is if the device was closed or says that it is lost
		d.cleanUp(func() (err error) {
			ended, err = first.event.Done()
			ended = ended || d.wrap(err) != nil
			return nil
		})
		switch {
		case ended:
			w.mu.Lock()
			w.list = slices.Delete(w.list, 0, 1)
			w.events = append(w.events, first.event)
			w.mu.Unlock()
			since, pause = time.Now(), newPause(5*time.Millisecond)
		case limit > 0 && time.Since(since) > limit:
			e := first.late(d)
			e.Sticky, e.Text = true, driver.OverTime(first.grid, first.block, limit)+"; the device is given up"
			d.giveUp(e)
		default:
			pause.sleep(nil)
		}
	}
}

// late is the error of a launch that takes too long.
func (w *watched) late(d *Device) *driver.Error {
	return &driver.Error{Device: d.name, Kernels: w.kernel.names, Kind: ErrTimeout, Origin: w.caller,
		Text: driver.Shape(w.grid, w.block)}
}

// hung holds devices with a kernel that cannot be stopped: it may still write to their memory,
// and to that of Go which they have adopted.
var hung struct {
	mu   sync.Mutex
	list []*Device
}

// giveUp makes a device lost to a kernel that does not end. Nothing waits for it any more.
func (d *Device) giveUp(e *driver.Error) {
	if d.hung.Swap(true) {
		return
	}
	d.lost.CompareAndSwap(nil, e)
	hung.mu.Lock()
	defer hung.mu.Unlock()
	hung.list = append(hung.list, d)
}

// patience waits for the work submitted to the stream so far if launches are followed: what
// comes then waits for no kernel, and not for one that hangs.
func (s *Stream) patience() error {
	if !s.dev.watches() {
		return nil
	}
	return s.reach(context.Background())
}

// reach waits until the stream has come this far, the context is over or the device is lost.
func (s *Stream) reach(ctx context.Context) error {
	w := &s.dev.watch
	w.mu.Lock()
	ev, err := w.event(s.dev)
	w.mu.Unlock()
	if err != nil {
		return s.dev.wrap(err)
	}
	defer w.giveBack(ev)
	if err := s.drv.Record(ev); err != nil {
		return s.dev.wrap(err)
	}
	return s.dev.reach(ctx, ev, s)
}

// reach waits for an event; s is the stream that the error is about.
func (d *Device) reach(ctx context.Context, ev driver.Event, s *Stream) error {
	for pause := newPause(time.Millisecond); ; {
		done, err := ev.Done()
		if err != nil {
			return d.wrap(err)
		}
		if e := d.lost.Load(); e != nil {
			return e
		}
		if done {
			return nil
		}
		if ctx.Err() != nil {
			return d.unfinished(s, context.Cause(ctx))
		}
		pause.sleep(ctx.Done())
	}
}

// unfinished is the error of a wait for a stream that was given up: it names the kernel that
// runs, or those that may.
func (d *Device) unfinished(s *Stream, cause error) error {
	e := d.runs(s)
	if e == nil {
		e = &driver.Error{Device: d.name, Op: "wait for the stream", Kind: ErrTimeout}
		if s == d.def {
			e.Kernels = d.suspects()
		} else {
			e.Kernels, _ = s.log.unfinished(nil)
		}
		if len(e.Kernels) > 0 {
			e.Text = "KILN_LAUNCH_TIMEOUT tells which launch it is"
		}
	}
	e.Cause = cause
	return e
}

// runs is the error of the launch that a stream waits for, nil if it is not known.
func (d *Device) runs(s *Stream) *driver.Error {
	if l, ok := d.drv.(driver.Limiter); ok {
		f, ok := l.Running()
		if !ok {
			return nil
		}
		e, _ := errors.AsType[*driver.Error](f.Err)
		e.Origin = d.ring.origin(place{f.Seq, f.Op})
		return e
	}
	d.watch.mu.Lock()
	defer d.watch.mu.Unlock()
	for i := range d.watch.list {
		if w := &d.watch.list[i]; s == d.def || w.log == s.log {
			return w.late(d)
		}
	}
	return nil
}

// pause is sleeps that grow from little to a most.
type pause struct{ next, most time.Duration }

func newPause(most time.Duration) *pause { return &pause{10 * time.Microsecond, most} }

// sleep ends early when the channel is closed.
func (p *pause) sleep(stop <-chan struct{}) {
	t := time.NewTimer(p.next)
	defer t.Stop()
	select {
	case <-t.C:
	case <-stop:
	}
	p.next = min(2*p.next, p.most)
}
