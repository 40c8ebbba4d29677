package runtime

import (
	"errors"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// What can go wrong, for errors.Is.
var (
	ErrNoDevice    = driver.ErrNoDevice    // the device, or the vendor's driver, is not there
	ErrOutOfMemory = driver.ErrOutOfMemory // device memory is used up
	ErrLaunch      = driver.ErrLaunch      // a kernel failed, or was refused
	ErrBadImage    = driver.ErrBadImage    // the driver does not take the code
	ErrNotFound    = driver.ErrNotFound    // a module has no such kernel
	ErrInvalid     = driver.ErrInvalid     // an argument makes no sense
	ErrClosed      = driver.ErrClosed      // the device was closed
	ErrFreed       = driver.ErrFreed       // the memory was freed
	ErrNotReady    = driver.ErrNotReady    // an event was not reached yet
	ErrTimeout     = driver.ErrTimeout     // a kernel has not ended in time
	ErrCapturing   = driver.ErrCapturing   // a graph cannot hold it, see Device.Capture
)

// Error is a failure that a device reported, with the vendor's name and number
// of it, the kernels it may come from, and the vendor's log. It prints on one
// line; %+v adds the log.
type Error = driver.Error

// wrap completes an error of the driver: the device's name and the kernels that
// may have caused it. A device that is lost keeps reporting its first failure.
func (d *Device) wrap(err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return err
	}
	if e.Device == "" {
		e.Device = d.name
	}
	if !e.Sticky {
		return err
	}
	if len(e.Kernels) == 0 {
		e.Kernels = d.suspects()
	}
	d.lost.CompareAndSwap(nil, e)
	return d.lost.Load()
}

func (d *Device) invalid(op, text string) error {
	return &driver.Error{Op: op, Device: d.name, Kind: driver.ErrInvalid, Text: text}
}
