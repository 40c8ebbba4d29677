package driver

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gokiln/kiln/internal/callsite"
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
	ErrTimeout     = errors.New("kernel has not ended in time")
	ErrCapturing   = errors.New("not possible while a graph is captured")
)

// Error is a failure that a device or its driver reported. It prints on one
// line; with %+v the vendor's log follows.
type Error struct {
	Op      string   // what was asked for: "load kernel saxpy", or ""
	Device  string   // "cuda:0", or ""
	Kernels []string // the kernel that failed, or those that may have
	Name    string   // the vendor's name of the error: "CUDA_ERROR_ILLEGAL_ADDRESS"
	Code    int      // the vendor's number
	Text    string   // the vendor's sentence, or our own
	Log     string   // the vendor compiler's log
	Kind    error    // a sentinel, or nil
	Cause   error    // a wrapped error, or nil
	Sticky  bool     // the device's context cannot be used any more

	Origin callsite.Stack // of the launch that failed, if it is known
}

// Read is the error as whoever reads what the failed kernel should have computed gets it:
// with the line of the program that launched it.
func (e *Error) Read() error {
	if pos := e.Origin.Site().Pos; pos != "" && e.Kind != ErrTimeout {
		return fmt.Errorf("%w (launched at %s)", e, pos)
	}
	return e
}

// Error is the one-line form.
func (e *Error) Error() string {
	var parts []string
	for _, part := range []string{e.Device, e.Op, e.kernels(), e.vendor(), e.Text, e.launched()} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	switch {
	case e.Cause != nil:
		parts = append(parts, e.Cause.Error())
	case e.Kind != nil && e.Name == "" && e.Text == "":
		parts = append(parts, e.Kind.Error())
	}
	if line := firstLine(e.Log); line != "" && e.Kind == ErrBadImage {
		parts = append(parts, line) // what the vendor's compiler complains about
	}
	return strings.Join(parts, ": ")
}

func (e *Error) kernels() string {
	switch n := len(e.Kernels); {
	case n == 0:
		return ""
	case n == 1 && e.Kind == ErrTimeout:
		return "kernel " + e.Kernels[0] + " has not ended"
	case e.Kind == ErrTimeout:
		return "a kernel has not ended, one of " + strings.Join(e.Kernels, ", ")
	case n == 1:
		return "kernel " + e.Kernels[0] + " failed"
	}
	return "a kernel failed, one of " + strings.Join(e.Kernels, ", ") + " (KILN_LAUNCH_BLOCKING=1 tells which)"
}

// launched says where the launch was made that has not ended: other errors have the line
// where something is read that depends on them.
func (e *Error) launched() string {
	if e.Kind != ErrTimeout {
		return ""
	}
	if pos := e.Origin.Site().Pos; pos != "" {
		return "launched at " + pos
	}
	return ""
}

// Shape is the grid and the blocks of a launch for people, "" of a graph.
func Shape(grid, block [3]int) string {
	if grid == ([3]int{}) {
		return ""
	}
	return fmt.Sprintf("grid %d×%d×%d of blocks %d×%d×%d", grid[0], grid[1], grid[2], block[0], block[1], block[2])
}

// OverTime says that a launch has taken longer than it may.
func OverTime(grid, block [3]int, limit time.Duration) string {
	text := fmt.Sprintf("longer than the launch timeout of %v", limit)
	if shape := Shape(grid, block); shape != "" {
		text = shape + ", " + text
	}
	return text
}

func (e *Error) vendor() string {
	if e.Name == "" {
		return ""
	}
	return fmt.Sprintf("%s (%d)", e.Name, e.Code)
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
