package interp

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// KernelError is the failure of one thread of a running kernel.
type KernelError struct {
	Kernel string
	Pos    ir.Pos // zero if the module has no position table
	Block  [3]int
	Thread [3]int
	Msg    string
}

// Error returns one line: position, kernel, block, thread and what happened.
func (e *KernelError) Error() string {
	place := ""
	if e.Pos.File != "" {
		place = fmt.Sprintf("%s:%d", e.Pos.File, e.Pos.Line)
	}
	return devlog.Line(place, e.Kernel, e.Block, e.Thread, e.Msg)
}
