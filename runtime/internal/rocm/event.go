package rocm

import (
	"time"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// event is a hipEvent_t.
type event struct {
	dev    *device
	handle uintptr
}

// NewEvent makes an event that takes the time.
func (d *device) NewEvent() (driver.Event, error) { return d.newEvent(0) }

// NewMark makes an event that takes no time.
func (d *device) NewMark() (driver.Event, error) { return d.newEvent(eventDisableTiming) }

func (d *device) newEvent(flags uintptr) (*event, error) {
	h := new(uintptr)
	err := d.do("create an event", d.lib.hipEventCreate, uintptr(unsafe.Pointer(h)), flags)
	return &event{dev: d, handle: *h}, d.made(err, d.lib.hipEventDestroy, h)
}

func (s *stream) own(op string, e driver.Event) (*event, error) {
	ev, ok := e.(*event)
	if !ok || ev.dev != s.dev {
		return nil, &driver.Error{Op: op, Device: s.dev.info.Name, Kind: driver.ErrInvalid,
			Text: "the event belongs to another device"}
	}
	return ev, nil
}

func (s *stream) Record(e driver.Event) error {
	ev, err := s.own("record an event", e)
	if err != nil {
		return err
	}
	return s.dev.do("record an event", s.dev.lib.hipEventRecord, ev.handle, s.handle)
}

func (s *stream) Wait(e driver.Event) error {
	ev, err := s.own("wait for an event", e)
	if err != nil {
		return err
	}
	return s.dev.do("wait for an event", s.dev.lib.hipStreamWaitEvent, s.handle, ev.handle, 0)
}

func (e *event) Done() (bool, error) {
	r := e.dev.try(e.dev.lib.hipEventQuery, e.handle)
	if r == notReady {
		return false, nil
	}
	return r == success, e.dev.lib.error("ask for an event", e.dev.info.Name, r)
}

func (e *event) Sync() error {
	return e.dev.do("wait for an event", e.dev.lib.hipEventSynchronize, e.handle)
}

func (e *event) Since(start driver.Event) (time.Duration, error) {
	const op = "time between events"
	from, err := e.dev.defaultStream.own(op, start)
	if err != nil {
		return 0, err
	}
	ms := new(float32)
	r := e.dev.try(e.dev.lib.hipEventElapsedTime, uintptr(unsafe.Pointer(ms)), from.handle, e.handle)
	if r == invalidHandle || r == notReady {
		f := e.dev.lib.failure(op, e.dev.info.Name, r)
		f.Kind, f.Text = driver.ErrNotReady, "an event was not recorded or not reached; wait for it first"
		return 0, f
	}
	return time.Duration(float64(*ms) * float64(time.Millisecond)), e.dev.lib.error(op, e.dev.info.Name, r)
}

func (e *event) Close() error {
	return e.dev.destroy("destroy an event", e.dev.lib.hipEventDestroy, e.handle)
}
