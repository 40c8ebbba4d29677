package tensor

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// The kinds of errors, for errors.Is.
var (
	ErrShape         = layout.ErrShape         // shapes or counts do not fit
	ErrBroadcast     = layout.ErrBroadcast     // shapes cannot be broadcast to each other
	ErrDim           = layout.ErrDim           // there is no such dimension
	ErrDuplicateDim  = layout.ErrDuplicate     // a dimension is named twice
	ErrRank          = layout.ErrRank          // the number of dimensions does not fit
	ErrRange         = layout.ErrNarrow        // a range reaches beyond a dimension
	ErrTooLarge      = layout.ErrTooLarge      // more elements than can be counted
	ErrDType         = ops.ErrDType            // the operation is not for the element type
	ErrEmpty         = ops.ErrEmpty            // there is no result for no elements
	ErrFunction      = elementwise.ErrFunction // a function of Map does not take the operands
	ErrOutOfMemory   = runtime.ErrOutOfMemory  // after dropped tensors were collected
	ErrFreed         = runtime.ErrFreed        // the memory of a tensor was freed
	ErrNoDevice      = runtime.ErrNoDevice     // the device, or the vendor's driver, is not there
	ErrClosed        = runtime.ErrClosed       // the device was closed
	ErrKernel        = runtime.ErrLaunch       // a kernel failed; the device is to be opened anew where it says so
	ErrDTypeMismatch = errors.New("element types differ")
	ErrDevice        = errors.New("devices differ")
	ErrArgument      = errors.New("invalid argument")
	ErrIndex         = errors.New("index out of range") // also when a kernel has found it
	ErrVar           = errors.New("the variable cannot be set")
	ErrNoGradient    = errors.New("no gradient")
	ErrChanged       = errors.New("changed in place") // since an operation whose gradient needs it
)

// Error is why an operation failed.
type Error struct {
	Op  string // the operation, as in "matmul"
	Pos string // file:line of the caller of this module, "" if it is not known
	Err error  // what was wrong
}

// Error is one line: the operation, what was wrong, and where.
func (e *Error) Error() string {
	text := e.Err.Error()
	if !strings.HasPrefix(text, e.Op+": ") { // which the layers below may have named
		text = e.Op + ": " + text
	}
	if e.Pos != "" {
		text += " (" + e.Pos + ")"
	}
	return text
}

// Unwrap returns what was wrong.
func (e *Error) Unwrap() error { return e.Err }

// Is makes an index that a kernel found out of range an error of kind [ErrIndex].
func (e *Error) Is(kind error) bool {
	return kind == ErrIndex && errors.Is(e.Err, ErrKernel) && strings.Contains(e.Err.Error(), outOfRange)
}

// outOfRange is what kernels say of an index.
const outOfRange = "is out of range"

// module is what the names of functions of this module's libraries begin with.
const module = "github.com/gokiln/kiln/"

// libraries are the packages whose callers an error names.
var libraries = []string{"tensor.", "nn.", "nn/", "quantized.", "quantized/", "models/", "ops"}

func inLibrary(function string) bool {
	name, ok := strings.CutPrefix(function, module)
	if !ok {
		return strings.HasPrefix(function, "runtime.")
	}
	for _, l := range libraries {
		if strings.HasPrefix(name, l) {
			return !strings.Contains(name, "_test.")
		}
	}
	return false
}

// newError is the error of an operation. That of a kernel is the operation's that launched it,
// wherever it is found.
func newError(op string, err error) *Error {
	if e, ok := errors.AsType[*runtime.Error](err); ok {
		if at := e.Origin.Site(); at.Pos != "" {
			return &Error{Op: cmp.Or(at.Op, op), Pos: at.Pos, Err: e}
		}
	}
	return &Error{Op: op, Pos: position(), Err: err}
}

// failed returns a Tensor that holds an error.
func failed(op string, err error) *Tensor {
	var e *Error
	if errors.As(err, &e) {
		return &Tensor{err: e} // of an operation that this one is made of
	}
	return &Tensor{err: newError(op, err)}
}

// failf is failed with a kind and a text.
func failf(op string, kind error, format string, args ...any) *Tensor {
	return failed(op, fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...)))
}

// first returns the first error that the operands of an operation hold, as a Tensor, that of
// a kernel included as far as it is known; nil if there is none.
func first(op string, of ...*Tensor) *Tensor {
	if bad := made(op, of...); bad != nil {
		return bad
	}
	for _, t := range of {
		if err := t.fault(); err != nil {
			return failed(op, err)
		}
	}
	return nil
}

// fault is the error of the kernel that the elements depend on, as far as it is known.
func (t *Tensor) fault() error {
	if t.buf == nil {
		return nil
	}
	return t.buf.Err()
}

// made is first of operands whose elements do not matter.
func made(op string, of ...*Tensor) *Tensor {
	for i, t := range of {
		switch {
		case t == nil:
			return failf(op, ErrArgument, "operand %d is a nil tensor", i)
		case t.err != nil:
			return t
		case t.dev == nil:
			return failf(op, ErrArgument, "operand %d is a Tensor that no function made", i)
		}
		if err := t.stale(); err != nil {
			return failed(op, err)
		}
	}
	return nil
}

// firstOf is [first] for operations that read no elements, such as views.
func firstOf(op string, t *Tensor) *Tensor {
	if t == nil || t.err != nil || t.dev == nil {
		return first(op, t)
	}
	return nil
}

// wrap adds to an error of something that is no operation on tensors where it was called.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return wrapped(op, err)
}

func wrapped(op string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return newError(op, err)
}
