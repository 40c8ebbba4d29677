package cpu

import (
	"sync"
	"time"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// event remembers the task that marks its position in the stream and when that task ran.
type event struct {
	dev *device
	mu  sync.Mutex
	seq uint64
	at  *time.Time // written by the task, read after it is done
}

// NewEvent returns an event that counts as done until it is recorded.
func (d *device) NewEvent() (driver.Event, error) { return &event{dev: d}, nil }

func (e *event) set(seq uint64, at *time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seq, e.at = seq, at
}

func (e *event) mark() (uint64, *time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seq, e.at
}

func (e *event) Done() (bool, error) {
	seq, _ := e.mark()
	return e.dev.queue.isDone(seq), nil
}

func (e *event) Sync() error {
	seq, _ := e.mark()
	e.dev.queue.wait(seq)
	return nil
}

func (e *event) Since(start driver.Event) (time.Duration, error) {
	s, ok := start.(*event)
	if !ok {
		return 0, &driver.Error{Op: "time between events", Device: deviceName, Kind: driver.ErrInvalid,
			Text: "the events belong to different kinds of device"}
	}
	from, err := s.time()
	if err != nil {
		return 0, err
	}
	to, err := e.time()
	if err != nil {
		return 0, err
	}
	return to.Sub(from), nil
}

func (e *event) time() (time.Time, error) {
	seq, at := e.mark()
	if at == nil || !e.dev.queue.isDone(seq) {
		return time.Time{}, &driver.Error{Op: "time between events", Device: deviceName, Kind: driver.ErrNotReady,
			Text: "an event was not recorded or not reached; wait for it first"}
	}
	return *at, nil
}

func (e *event) Close() error { return nil }
