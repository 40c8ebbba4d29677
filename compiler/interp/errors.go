package interp

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/ir"
)

// KernelError is the failure of one thread of a running kernel.
type KernelError struct {
	Kernel string
	Pos    ir.Pos // zero if the module has no position table
	Block  [3]int
	Thread [3]int
	Msg    string
}

// Error returns one line: place, kernel, block, thread and what happened.
func (e *KernelError) Error() string {
	place := ""
	if e.Pos.File != "" {
		place = fmt.Sprintf("%s:%d: ", e.Pos.File, e.Pos.Line)
	}
	return fmt.Sprintf("%skernel %s: block (%d,%d,%d), thread (%d,%d,%d): %s", place, e.Kernel,
		e.Block[0], e.Block[1], e.Block[2], e.Thread[0], e.Thread[1], e.Thread[2], e.Msg)
}
