package target

import "fmt"

// Excess says of what a kernel needs more than a target has.
type Excess struct {
	What string // what it needs, and what there is
	Fix  string // the way out
}

func (e *Excess) Error() string { return e.What + "; " + e.Fix }

// CheckShared says what is wrong with a kernel that has n bytes of shared memory, nil if nothing
// is.
func (t Target) CheckShared(n int) error {
	return within(n, t.MaxShared, "use smaller dsl.Shared arrays", "needs %d bytes of shared memory, %s has %d for a block", n, t, t.MaxShared)
}

// CheckLocal says what is wrong with a kernel whose threads have n bytes of local variables in
// memory.
func (t Target) CheckLocal(n int) error {
	return within(n, t.MaxLocal, "use smaller arrays, or a slice with a part for each thread", "needs %d bytes of local variables, %s has %d for a thread", n, t, t.MaxLocal)
}

// CheckArgs says what is wrong with a kernel that has n bytes of arguments.
func (t Target) CheckArgs(n int) error {
	return within(n, t.MaxArgs, "pass large arrays as slices", "has %d bytes of arguments, a launch on %s takes %d", n, t, t.MaxArgs)
}

// CheckThreads says what is wrong with a kernel for blocks of n threads; 0 stands for any number.
func (t Target) CheckThreads(n int) error {
	return within(n, t.MaxThreads, "use smaller blocks", "is for blocks of %d threads, %s runs up to %d", n, t, t.MaxThreads)
}

// CheckCluster says what is wrong with a kernel for clusters of n blocks; 0 stands for none.
func (t Target) CheckCluster(n int) error {
	if n <= 1 || t.Kind == PTX && t.CC >= 90 {
		return nil
	}
	return &Excess{What: fmt.Sprintf("is for clusters of %d blocks, %s has none", n, t), Fix: "pass dsl.Cluster 1 there"}
}

// within is an Excess if n is more than a limit; a limit of 0 is none.
func within(n, limit int, fix, format string, args ...any) error {
	if limit == 0 || n <= limit {
		return nil
	}
	return &Excess{What: fmt.Sprintf(format, args...), Fix: fix}
}
