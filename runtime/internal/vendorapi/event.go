package vendorapi

import (
	"time"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Event is a CUevent, or a hipEvent_t.
type Event struct {
	dev    *Device
	handle uintptr
}

// NewEvent makes an event that takes the time.
func (d *Device) NewEvent() (driver.Event, error) { return d.newEvent(0) }

// NewMark makes an event that takes no time.
func (d *Device) NewMark() (driver.Event, error) { return d.newEvent(eventDisableTiming) }

func (d *Device) newEvent(flags uintptr) (*Event, error) {
	h := new(uintptr)
	err := d.Do("create an event", d.Lib.EventCreate, uintptr(unsafe.Pointer(h)), flags)
	return &Event{dev: d, handle: *h}, d.made(err, d.Lib.EventDestroy, h)
}

func (s *Stream) own(op string, e driver.Event) (*Event, error) {
	ev, ok := e.(*Event)
	if !ok || ev.dev != s.dev {
		return nil, &driver.Error{Op: op, Device: s.dev.info.Name, Kind: driver.ErrInvalid,
			Text: "the event belongs to another device"}
	}
	return ev, nil
}

// Record notes the stream's work so far in an event of the same device.
func (s *Stream) Record(e driver.Event) error {
	ev, err := s.own("record an event", e)
	if err != nil {
		return err
	}
	return s.dev.Do("record an event", s.dev.Lib.EventRecord, ev.handle, s.handle)
}

// Wait has later work of the stream wait for an event of the same device.
func (s *Stream) Wait(e driver.Event) error {
	ev, err := s.own("wait for an event", e)
	if err != nil {
		return err
	}
	return s.dev.Do("wait for an event", s.dev.Lib.StreamWait, s.handle, ev.handle, 0)
}

// Done reports whether the event was reached.
func (e *Event) Done() (bool, error) {
	r := e.dev.Try(e.dev.Lib.EventQuery, e.handle)
	if r == NotReady {
		return false, nil
	}
	return r == Success, e.dev.Lib.Error("ask for an event", e.dev.info.Name, r)
}

// Sync waits until the event is reached.
func (e *Event) Sync() error {
	return e.dev.Do("wait for an event", e.dev.Lib.EventSync, e.handle)
}

// Since is the time from another event of the device to this one.
func (e *Event) Since(start driver.Event) (time.Duration, error) {
	const op = "time between events"
	from, err := e.dev.defaultStream.own(op, start)
	if err != nil {
		return 0, err
	}
	ms := new(float32)
	r := e.dev.Try(e.dev.Lib.EventTime, uintptr(unsafe.Pointer(ms)), from.handle, e.handle)
	if r == InvalidHandle || r == NotReady {
		f := e.dev.Lib.Failure(op, e.dev.info.Name, r)
		f.Kind, f.Text = driver.ErrNotReady, "an event was not recorded or not reached; wait for it first"
		return 0, f
	}
	return time.Duration(float64(*ms) * float64(time.Millisecond)), e.dev.Lib.Error(op, e.dev.info.Name, r)
}

// Close destroys the event.
func (e *Event) Close() error {
	return e.dev.destroy("destroy an event", e.dev.Lib.EventDestroy, e.handle)
}
