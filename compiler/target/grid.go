package target

import "strings"

// GridBarriers returns nil if all blocks of a launch can wait for each other on t, and else why
// not.
func (t Target) GridBarriers() error {
	lack := func(why string) error {
		return &Unsupported{What: "a barrier of the grid", Target: t, Why: why + "; use a launch for each step"}
	}
	switch t.Kind {
	case MSL:
		return lack("Metal does not run all threadgroups of a launch at the same time")
	case OpenCL:
		return lack("OpenCL does not run all work-groups of a launch at the same time")
	}
	return nil
}

// OwnFences reports whether each thread has to fence what it wrote before a barrier of the block
// for threads of other blocks to see it, where elsewhere a fence of one thread behind the barrier
// is enough. AMD's compilers do not wait for writes to global memory at the barrier of a block,
// because its waves share a cache that keeps them in order, and the fence of another wave waits for
// its own writes alone (LLVM, SIMemoryLegalizer, the scope of a work-group).
func (t Target) OwnFences() bool { return strings.HasPrefix(t.Arch, "gfx") }
