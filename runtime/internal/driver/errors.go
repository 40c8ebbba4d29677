package driver

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Sentinels for errors.Is. The public runtime re-exports them.
var (
	ErrNoDevice    = errors.New("no such device")
	ErrOutOfMemory = errors.New("out of device memory")
	ErrLaunch      = errors.New("kernel failed")
	ErrBadImage    = errors.New("device code was refused")
	ErrNotFound    = errors.New("no such kernel")
	ErrInvalid     = errors.New("invalid argument")
	ErrClosed      = errors.New("device is closed")
	ErrFreed       = errors.New("memory was freed")
	ErrNotReady    = errors.New("not ready")
)

// Error is a failure that a device or its driver reported. It prints on one
// line; with %+v the vendor's log follows.
type Error struct {
	Op      string   // what was asked for: "load kernel saxpy", "cuMemAllocAsync"
	Device  string   // "cuda:0", or ""
	Kernels []string // the kernel that failed, or those that may have
	Name    string   // the vendor's name of the error: "CUDA_ERROR_ILLEGAL_ADDRESS"
	Code    int      // the vendor's number
	Text    string   // the vendor's sentence, or our own
	Log     string   // the vendor compiler's log
	Kind    error    // a sentinel, or nil
	Cause   error    // a wrapped error, or nil
	Sticky  bool     // the device's context cannot be used any more
}

// Error is the one-line form.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Device != "" {
		fmt.Fprintf(&b, "%s: ", e.Device)
	}
	b.WriteString(e.Op)
	switch len(e.Kernels) {
	case 0:
	case 1:
		fmt.Fprintf(&b, ": kernel %s failed", e.Kernels[0])
	default:
		fmt.Fprintf(&b, ": a kernel failed, one of %s (KILN_LAUNCH_BLOCKING=1 tells which)", strings.Join(e.Kernels, ", "))
	}
	if e.Name != "" {
		fmt.Fprintf(&b, ": %s (%d)", e.Name, e.Code)
	}
	if e.Text != "" {
		fmt.Fprintf(&b, ": %s", e.Text)
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	if e.Name == "" && e.Text == "" && e.Cause == nil && e.Kind != nil {
		fmt.Fprintf(&b, ": %v", e.Kind)
	}
	if line := firstLine(e.Log); line != "" {
		fmt.Fprintf(&b, ": %s", line)
	}
	return b.String()
}

// Unwrap gives the sentinel and the cause.
func (e *Error) Unwrap() []error {
	var list []error
	if e.Kind != nil {
		list = append(list, e.Kind)
	}
	if e.Cause != nil {
		list = append(list, e.Cause)
	}
	return list
}

// Format prints the log too with %+v.
func (e *Error) Format(f fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(f, "%q", e.Error())
	default:
		io.WriteString(f, e.Error())
		if verb == 'v' && f.Flag('+') && e.Log != "" {
			io.WriteString(f, "\n"+strings.TrimRight(e.Log, "\n"))
		}
	}
}

// firstLine is the first line of a log that says something.
func firstLine(log string) string {
	for line := range strings.Lines(log) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
