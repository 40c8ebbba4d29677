package metal

import (
	"strconv"
	"time"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// event is an operation that does nothing, and the time when it was done. Its fields
// are guarded by the device's lock.
type event struct {
	dev   *device
	at    point   // the operation; it has no stream if it was never recorded
	time  float64 // seconds
	timed bool
	quiet bool // who waits for it does not report what failed
}

// NewEvent makes an event.
func (d *device) NewEvent() (driver.Event, error) { return &event{dev: d}, nil }

func (s *stream) own(op string, e driver.Event) (*event, error) {
	ev, ok := e.(*event)
	if !ok || ev.dev != s.dev {
		return nil, s.dev.invalid(op, "the event belongs to another device")
	}
	return ev, nil
}

func (s *stream) Record(e driver.Event) error {
	const op = "record an event"
	ev, err := s.own(op, e)
	if err != nil {
		return err
	}
	d := s.dev
	defer d.lib.pool()()
	s.enter()
	defer d.mu.Unlock()
	cb, err := s.begin(op)
	if err != nil {
		return err
	}
	s.commit(cb, operation{mark: ev})
	ev.at, ev.timed = point{s, s.last}, false
	return nil
}

// Wait has the next operation wait; those after it wait for that one.
func (s *stream) Wait(e driver.Event) error {
	ev, err := s.own("wait for an event", e)
	if err != nil {
		return err
	}
	s.dev.mu.Lock()
	defer s.dev.mu.Unlock()
	if ev.at.stream != nil && !ev.at.passed() {
		s.after = append(s.after, ev.at)
	}
	return nil
}

// reached reads the time of an operation that is done. GPUEndTime is a float, which
// dl.Call cannot return; its text can be read.
func (e *event) reached(o *operation) {
	if e.at.number != o.number {
		return // recorded anew
	}
	d := e.dev
	key := d.lib.string("GPUEndTime")
	text := d.msg(d.msg(o.buffer, d.lib.valueForKey, key, 0, 0, 0), d.lib.stringValue, 0, 0, 0, 0)
	t, err := strconv.ParseFloat(dl.Text(d.msg(text, d.lib.utf8, 0, 0, 0, 0)), 64)
	e.time, e.timed = t, err == nil
}

func (e *event) Done() (bool, error) {
	d := e.dev
	defer d.lib.pool()()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reap()
	return e.at.stream == nil || e.at.passed(), nil
}

func (e *event) Sync() error {
	e.dev.mu.Lock()
	at := e.at
	e.dev.mu.Unlock()
	switch {
	case at.stream == nil:
		return nil
	case e.quiet:
		e.dev.wait(at)
		return nil
	}
	return at.stream.report(at)
}

func (e *event) Since(start driver.Event) (time.Duration, error) {
	const op = "time between events"
	from, err := (&stream{dev: e.dev}).own(op, start)
	if err != nil {
		return 0, err
	}
	d := e.dev
	defer d.lib.pool()()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reap()
	if !e.timed || !from.timed {
		return 0, &driver.Error{Op: op, Device: d.info.Name, Kind: driver.ErrNotReady, Text: "an event was not recorded or not reached; wait for it first"}
	}
	return time.Duration((e.time - from.time) * float64(time.Second)), nil
}

// Close has nothing to give back.
func (e *event) Close() error { return nil }
