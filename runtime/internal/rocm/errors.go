package rocm

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// The results that are told apart (hipError_t); all others only have a name and a
// text.
const (
	success               result = 0
	invalidValue          result = 1
	outOfMemory           result = 2
	invalidDeviceFunction result = 98
	noDevice              result = 100
	invalidDevice         result = 101
	invalidImage          result = 200
	noBinaryForGPU        result = 209
	eccUncorrectable      result = 214
	peerUnsupported       result = 217
	invalidKernelFile     result = 218
	invalidSource         result = 300
	invalidHandle         result = 400
	notFound              result = 500
	notReady              result = 600
	illegalAddress        result = 700
	launchResources       result = 701
	launchTimeout         result = 702
	deviceAssert          result = 710
	launchFailed          result = 719
	launchTooLarge        result = 720 // a cooperative one
	notSupported          result = 801
)

// kind is the sentinel for a result, nil if there is none.
func (r result) kind() error {
	switch r {
	case outOfMemory:
		return driver.ErrOutOfMemory
	case noDevice, invalidDevice:
		return driver.ErrNoDevice
	case invalidImage, noBinaryForGPU, invalidKernelFile, invalidSource:
		return driver.ErrBadImage
	case notFound:
		return driver.ErrNotFound
	case notReady:
		return driver.ErrNotReady
	case launchResources:
		return driver.ErrLaunch
	case launchTooLarge:
		return driver.ErrInvalid
	case notSupported:
		return errors.ErrUnsupported
	}
	if r.sticky() {
		return driver.ErrLaunch
	}
	return nil
}

// sticky reports whether the device is lost to this process.
func (r result) sticky() bool {
	switch r {
	case illegalAddress, launchTimeout, deviceAssert, launchFailed, eccUncorrectable:
		return true
	}
	return false
}

// error makes an error of a result, nil of success.
func (l *library) error(op, device string, r result) error {
	if r == success {
		return nil
	}
	return l.failure(op, device, r)
}

func (l *library) failure(op, device string, r result) *driver.Error {
	e := &driver.Error{Op: op, Device: device, Code: int(r), Kind: r.kind(), Sticky: r.sticky()}
	e.Name = l.text(l.hipGetErrorName, r)
	e.Text = l.text(l.hipGetErrorString, r)
	if e.Name == "" {
		e.Name = fmt.Sprintf("HIP error %d", r)
	}
	switch r {
	case illegalAddress:
		e.Text += " (the same launch on the device cpu names line, thread and index)"
	case noBinaryForGPU:
		e.Text += " (the code object is for another architecture)"
	}
	return e
}

// text asks the runtime for the name or the sentence of a result.
func (l *library) text(fn uintptr, r result) string {
	return dl.Text(dl.Call(fn, []uintptr{uintptr(uint32(r))}))
}
