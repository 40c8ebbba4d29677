package host

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// What can go wrong in a run. Errors wrap one of these.
var (
	ErrLaunch     = errors.New("bad launch")
	ErrDivergence = errors.New("divergent threads")
	ErrPanic      = errors.New("kernel panic")
	ErrAssert     = errors.New("assertion failed")
)

// position is a resolved source position of a kernel.
type position struct {
	file string
	line int
}

func (p position) String() string {
	if p.file == "" {
		return "unknown position"
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

// dslPrefix starts the names of functions of package dsl, whose frames are of
// no use to the author of a kernel. Package dsltest, and tests of dsl in their
// own package, do not match.
var dslPrefix, hostPrefix = ownPrefixes()

func ownPrefixes() (dsl, host string) {
	pc, _, _, _ := runtime.Caller(0)
	name := runtime.FuncForPC(pc).Name()
	host = strings.TrimSuffix(name, "ownPrefixes")
	return strings.TrimSuffix(host, "/internal/host.") + ".", host
}

func internalFrame(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, dslPrefix) ||
		strings.HasPrefix(function, hostPrefix)
}

// position resolves the innermost frame of a site outside package dsl.
func (r *run) position(s site) position {
	if p, ok := r.sites[s]; ok {
		return p
	}
	n := 0
	for n < len(s) && s[n] != 0 {
		n++
	}
	p := outermostOf(s[:n])
	r.sites[s] = p
	return p
}

// outermostOf walks from the innermost frame to the first one that belongs to
// the author of the kernel.
func outermostOf(pcs []uintptr) position {
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if f.File != "" && !internalFrame(f.Function) {
			return position{f.File, f.Line}
		}
		if !more {
			return position{}
		}
	}
}

func (d Dim) String() string { return fmt.Sprintf("(%d,%d,%d)", d.X, d.Y, d.Z) }

func (r *run) where(l *Lane) string {
	if l.op == OpReturn {
		return fmt.Sprintf("thread %v has returned", l.Thread)
	}
	return fmt.Sprintf("thread %v is at %v, %v", l.Thread, l.op, r.position(l.site))
}

func (r *run) divergence(group string, a, b *Lane) error {
	return fmt.Errorf("%w: block %v: threads of one %s must meet at one place, but %s and %s; move the call out of the branch or loop that not all threads take",
		ErrDivergence, a.Block, group, r.where(a), r.where(b))
}

// hang describes threads that wait for what does not come.
func (r *run) hang() error {
	var waits, other *Lane
	for _, l := range r.lanes {
		switch {
		case l.op != OpPoll && other == nil:
			other = l
		case l.op == OpPoll && waits == nil:
			waits = l
		}
	}
	rest := "and so do all others"
	if other != nil {
		rest = "and " + r.where(other)
	}
	return fmt.Errorf("%w: block %v: %s, for a phase that nobody completes, %s; each phase needs as many arrivals as Init said, and the parity of the wait is that of the phase: 0, 1, 0 and so on",
		ErrDivergence, waits.Block, r.where(waits), rest)
}

func (r *run) partialWarp(lanes []*Lane) error {
	l := lanes[0]
	return fmt.Errorf("%w: %v at %v needs whole warps, but the block has %d threads and the warp %d; make the block size a multiple of the warp size",
		ErrLaunch, l.op, r.position(l.site), len(r.lanes), r.WarpSize)
}

// panicError describes a panic of kernel code. It runs while the stack of the
// panic is still there.
func (l *Lane) panicError(value any) error {
	pcs := make([]uintptr, 64)
	pcs = pcs[:runtime.Callers(1, pcs)]
	if err, ok := value.(error); ok {
		return fmt.Errorf("%w: block %v, thread %v, %v: %w", ErrPanic, l.Block, l.Thread, outermostOf(pcs), err)
	}
	return fmt.Errorf("%w: block %v, thread %v, %v: %v", ErrPanic, l.Block, l.Thread, outermostOf(pcs), value)
}
