package host

import (
	"fmt"
	"runtime"
)

// assertion ends a thread whose assertion failed.
type assertion string

// Fail ends the kernel with an error. With values the message is a format for them.
func (l *Lane) Fail(message string, values ...any) {
	if len(values) > 0 {
		message = fmt.Sprintf(message, values...)
	}
	panic(assertion(message))
}

// Printf prints at once.
func (l *Lane) Printf(format string, args []any) {
	if _, err := fmt.Fprintf(l.run.Output, format, args...); err != nil {
		panic(fmt.Errorf("printing: %w", err))
	}
}

// assertError describes a failed assertion. It runs while the stack is still there.
func (l *Lane) assertError(a assertion) error {
	pcs := make([]uintptr, 64)
	pcs = pcs[:runtime.Callers(1, pcs)]
	return fmt.Errorf("%w: block %v, thread %v, %v: %s", ErrAssert, l.Block, l.Thread, outermostOf(pcs), string(a))
}
