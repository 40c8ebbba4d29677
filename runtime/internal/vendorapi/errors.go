package vendorapi

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Result is a CUresult or a hipError_t.
type Result int32

// The results that are told apart; all others only have a name and a text. HIP has CUDA's
// numbers, and not all of them.
const (
	Success           Result = 0
	InvalidValue      Result = 1
	OutOfMemory       Result = 2
	NoDevice          Result = 100
	InvalidDevice     Result = 101
	InvalidImage      Result = 200
	NoBinaryForGPU    Result = 209
	ECCUncorrectable  Result = 214
	PeerUnsupported   Result = 217
	InvalidPTX        Result = 218 // HIP: InvalidKernelFile
	NVLinkError       Result = 220
	JITCompilerAbsent Result = 221
	UnsupportedPTX    Result = 222
	InvalidSource     Result = 300
	InvalidHandle     Result = 400
	NotFound          Result = 500
	NotReady          Result = 600
	IllegalAddress    Result = 700
	LaunchResources   Result = 701
	LaunchTimeout     Result = 702
	DeviceAssert      Result = 710
	HardwareStack     Result = 714
	IllegalOpcode     Result = 715
	Misaligned        Result = 716
	InvalidSpace      Result = 717
	InvalidPC         Result = 718
	LaunchFailed      Result = 719
	LaunchTooLarge    Result = 720 // a cooperative one
	NotSupported      Result = 801
)

// kind is the sentinel for a result, nil if there is none.
func (r Result) kind() error {
	switch r {
	case OutOfMemory:
		return driver.ErrOutOfMemory
	case NoDevice, InvalidDevice:
		return driver.ErrNoDevice
	case InvalidImage, NoBinaryForGPU, InvalidPTX, JITCompilerAbsent, UnsupportedPTX, InvalidSource:
		return driver.ErrBadImage
	case NotFound:
		return driver.ErrNotFound
	case NotReady:
		return driver.ErrNotReady
	case LaunchResources:
		return driver.ErrLaunch
	case LaunchTooLarge:
		return driver.ErrInvalid
	case NotSupported:
		return errors.ErrUnsupported
	}
	if r.sticky() {
		return driver.ErrLaunch
	}
	return nil
}

// sticky reports whether the device, or its context, is lost to this process: every later call
// returns the same.
func (r Result) sticky() bool {
	switch r {
	case IllegalAddress, LaunchTimeout, DeviceAssert, HardwareStack, IllegalOpcode, Misaligned,
		InvalidSpace, InvalidPC, LaunchFailed, ECCUncorrectable, NVLinkError:
		return true
	}
	return false
}

// hints are what the texts of results leave unsaid.
var hints = map[Result]string{
	JITCompilerAbsent: " (libnvidia-ptxjitcompiler belongs to the driver; in a container it must be mounted too)",
	IllegalAddress:    " (the same launch on the device cpu names line, thread and index)",
	NoBinaryForGPU:    " (the code is for another architecture)",
}

// Error makes an error of a result, nil of success.
func (l *Library) Error(op, device string, r Result) error {
	if r == Success {
		return nil
	}
	return l.Failure(op, device, r)
}

// Failure makes an error of a result that is none of success.
func (l *Library) Failure(op, device string, r Result) *driver.Error {
	e := &driver.Error{Op: op, Device: device, Code: int(r), Kind: r.kind(), Sticky: r.sticky()}
	e.Name = l.text(l.ErrorName, r)
	e.Text = l.text(l.ErrorString, r) + hints[r]
	if e.Name == "" {
		e.Name = fmt.Sprintf("%s error %d", l.traits.API, r)
	}
	return e
}

// text asks the library for the name or the sentence of a result.
func (l *Library) text(fn uintptr, r Result) string {
	if l.traits.TextReturned {
		return dl.Text(dl.Call(fn, []uintptr{uintptr(uint32(r))}))
	}
	p := new(uintptr)
	if Call(fn, uintptr(r), uintptr(unsafe.Pointer(p))) != Success {
		return ""
	}
	return dl.Text(*p)
}
