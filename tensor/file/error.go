package file

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with files, for errors.Is.
var (
	// ErrFormat is a file that is not what its format demands.
	ErrFormat = errors.New("malformed file")
	// ErrTruncated is a file that ends too early, or a tensor that reaches over its end.
	ErrTruncated = errors.New("truncated file")
	// ErrUnsupported is what a format has and this module does not.
	ErrUnsupported = errors.New("unsupported")
	// ErrNotFound is a name that no tensor has.
	ErrNotFound = errors.New("no such tensor")
)

// Error is a fault of a file, with its position.
type Error struct {
	Path   string // of the file, "" if it has none
	Offset int64  // in bytes from the begin of the file, -1 if the fault has no position
	Tensor string // the name of the tensor, "" if the fault is not that of one
	Detail string // what is wrong, what was expected
	Err    error  // one of the errors above, or what the system said
}

// Fault returns an Error at a byte of a file that is not that of a tensor.
func Fault(path string, offset int64, err error, format string, args ...any) *Error {
	return &Error{Path: path, Offset: offset, Err: err, Detail: fmt.Sprintf(format, args...)}
}

// Error is the position, the kind and the detail.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Err.Error())
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " at byte %d", e.Offset)
	}
	if e.Tensor != "" {
		fmt.Fprintf(&b, ": tensor %q", e.Tensor)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

// Unwrap is the kind of the fault.
func (e *Error) Unwrap() error { return e.Err }
