package runtime

import (
	"context"
	goruntime "runtime"
	"sync/atomic"
	"time"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Event marks a point in a stream: to wait for, or to measure time.
type Event struct {
	dev *Device
	drv driver.Event
	rec atomic.Pointer[recording] // in which it was recorded last, nil for a stream that runs work
}

// NewEvent returns an event that is not recorded yet.
func (d *Device) NewEvent() (*Event, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	drv, err := d.drv.NewEvent()
	if err != nil {
		return nil, d.wrap(err)
	}
	e := &Event{dev: d, drv: drv}
	goruntime.AddCleanup(e, func(drv driver.Event) { d.cleanUp(drv.Close) }, drv)
	return e, nil
}

// Record puts the event after the work submitted to the stream so far.
func (s *Stream) Record(e *Event) error {
	if err := s.shares("record event", e); err != nil {
		return err
	}
	err := s.drv.Record(e.drv)
	if err == nil {
		e.rec.Store(s.rec)
	}
	goruntime.KeepAlive(e)
	return s.dev.wrap(err)
}

// Wait makes work submitted to the stream from now on wait for the event as it
// was last recorded, on whichever stream of the device.
func (s *Stream) Wait(e *Event) error {
	const op = "wait for event"
	if err := s.shares(op, e); err != nil {
		return err
	}
	switch rec := e.rec.Load(); {
	case rec == s.rec:
	case s.rec != nil:
		return s.rec.refuse(op, "the event was not recorded in this capture; wait for it on the stream that the graph is launched on")
	default:
		return s.dev.invalid(op, "the event was recorded in a capture, which runs nothing; Fork makes other streams of a capture")
	}
	err := s.drv.Wait(e.drv)
	goruntime.KeepAlive(e)
	return s.dev.wrap(err)
}

func (s *Stream) shares(op string, e *Event) error {
	if err := s.usable(op); err != nil {
		return err
	}
	if e == nil || e.dev != s.dev {
		return s.dev.invalid(op, "the event is not of this device")
	}
	return nil
}

// usable reports why the event cannot be asked for something, nil if it can.
func (e *Event) usable(op string) error {
	if rec := e.rec.Load(); rec != nil {
		return rec.refuseEvent(op)
	}
	return e.dev.usable()
}

// Done reports whether the event was reached; true if it was never recorded.
func (e *Event) Done() (bool, error) {
	if err := e.usable("ask for an event"); err != nil {
		return false, err
	}
	ok, err := e.drv.Done()
	goruntime.KeepAlive(e)
	return ok, e.dev.wrap(err)
}

// Sync waits until the event is reached.
func (e *Event) Sync() error {
	if err := e.usable("wait for an event"); err != nil {
		return err
	}
	if e.dev.watches() {
		if err := e.dev.reach(context.Background(), e.drv, e.dev.def); err != nil {
			return err
		}
	}
	err := e.drv.Sync()
	goruntime.KeepAlive(e)
	return e.dev.wrap(err)
}

// Elapsed is the device's time from start to e. Both must have been reached;
// the error is [ErrNotReady] if not.
func (e *Event) Elapsed(start *Event) (time.Duration, error) {
	if err := e.usable("time between events"); err != nil {
		return 0, err
	}
	if start == nil || start.dev != e.dev {
		return 0, e.dev.invalid("time between events", "the events are of different devices")
	}
	if err := start.usable("time between events"); err != nil {
		return 0, err
	}
	t, err := e.drv.Since(start.drv)
	goruntime.KeepAlive(e)
	goruntime.KeepAlive(start)
	return t, e.dev.wrap(err)
}
