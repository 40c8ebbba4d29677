package target

import (
	"errors"
	"fmt"
)

// ErrUnsupported is what errors are that say that a target lacks something.
var ErrUnsupported = errors.New("the target lacks it")

// Unsupported says what a target lacks and why. It is an [ErrUnsupported].
type Unsupported struct {
	What   string // an operation or a type
	Target Target
	Why    string // and what to do instead
}

func (e *Unsupported) Error() string {
	return fmt.Sprintf("%s is not available on %s: %s", e.What, e.Target, e.Why)
}

// Is makes the error an [ErrUnsupported].
func (e *Unsupported) Is(err error) bool { return err == ErrUnsupported }
