package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// The results that are told apart; all others only have a name and a text.
const (
	success           result = 0
	invalidValue      result = 1
	outOfMemory       result = 2
	noDevice          result = 100
	invalidDevice     result = 101
	invalidImage      result = 200
	noBinaryForGPU    result = 209
	eccUncorrectable  result = 214
	invalidPTX        result = 218
	nvlinkError       result = 220
	jitCompilerAbsent result = 221
	peerUnsupported   result = 217
	unsupportedPTX    result = 222
	invalidHandle     result = 400
	notFound          result = 500
	notReady          result = 600
	illegalAddress    result = 700
	launchResources   result = 701
	launchTimeout     result = 702
	deviceAssert      result = 710
	hardwareStack     result = 714
	illegalOpcode     result = 715
	misaligned        result = 716
	invalidSpace      result = 717
	invalidPC         result = 718
	launchFailed      result = 719
	notSupported      result = 801
)

// kind is the sentinel for a result, nil if there is none.
func (r result) kind() error {
	switch r {
	case outOfMemory:
		return driver.ErrOutOfMemory
	case noDevice, invalidDevice:
		return driver.ErrNoDevice
	case invalidImage, noBinaryForGPU, invalidPTX, jitCompilerAbsent, unsupportedPTX:
		return driver.ErrBadImage
	case notFound:
		return driver.ErrNotFound
	case notReady:
		return driver.ErrNotReady
	case launchResources:
		return driver.ErrLaunch
	case notSupported:
		return errors.ErrUnsupported
	}
	if r.sticky() {
		return driver.ErrLaunch
	}
	return nil
}

// sticky reports whether the context is lost: every later call returns the same.
func (r result) sticky() bool {
	switch r {
	case illegalAddress, launchTimeout, deviceAssert, hardwareStack, illegalOpcode, misaligned,
		invalidSpace, invalidPC, launchFailed, eccUncorrectable, nvlinkError:
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
	e.Name = l.text(l.cuGetErrorName, r)
	e.Text = l.text(l.cuGetErrorString, r)
	if e.Name == "" {
		e.Name = fmt.Sprintf("CUDA error %d", r)
	}
	switch r {
	case jitCompilerAbsent:
		e.Text += " (libnvidia-ptxjitcompiler belongs to the driver; in a container it must be mounted too)"
	case illegalAddress:
		e.Text += " (the same launch on the device cpu names line, thread and index)"
	}
	return e
}

// text asks the driver for the name or the sentence of a result.
func (l *library) text(fn uintptr, r result) string {
	p := new(uintptr)
	if call(fn, uintptr(r), uintptr(unsafe.Pointer(p))) != success {
		return ""
	}
	return dl.Text(*p)
}
