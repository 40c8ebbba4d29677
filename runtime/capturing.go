package runtime

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gokiln/kiln/internal/callsite"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// captures is the recordings of a device that are open. What a recording uses is lent to it
// until Capture returns: no other stream writes it, nor reads what the recording writes. To
// submit a part of a graph to the default stream, by a function that takes no stream, is the
// mistake that is easiest to make: it would run once, and be missing in the graph.
type captures struct {
	count atomic.Int32 // so that programs without captures take no lock
	mu    sync.Mutex
	open  []*recording
}

// begin notes a recording until the function that it returns is called.
func (c *captures) begin(r *recording) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, r)
	c.count.Add(1)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open = slices.DeleteFunc(c.open, func(o *recording) bool { return o == r })
		c.count.Add(-1)
	}
}

// outside is work that a stream runs while a graph is captured.
type outside struct {
	op   string
	site callsite.Stack
}

// lent is memory that a recording uses.
type lent struct {
	access Access
	op     int // the first operation that uses it so
}

const modifies = Writes | Sets

// admit reports why work cannot run: it uses memory that is lent to a recording.
func (c *captures) admit(op string, t *touched) error {
	if c.count.Load() == 0 {
		return nil
	}
	work := outside{op: op}
	work.site.Capture(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.open {
		if err := r.admit(&work, t); err != nil {
			return err
		}
	}
	return nil
}

// admit is [captures.admit] of one recording. It notes what the work writes.
func (r *recording) admit(work *outside, t *touched) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range t.all() {
		have := r.lent[u.block]
		if (have.access|u.access)&modifies == 0 || have.access == 0 || u.access == 0 {
			continue
		}
		verb := "reads"
		if u.access&modifies != 0 {
			verb = "writes"
		}
		return r.failed(work.op, fmt.Sprintf("it %s memory that the graph uses%s, and would not be part of the graph; use the stream that Capture gives, or wait until Capture has returned",
			verb, at(r.sources[have.op])))
	}
	for _, u := range t.all() {
		if u.access&modifies == 0 {
			continue
		}
		if _, ok := r.outside[u.block]; !ok {
			r.outside[u.block] = work
		}
	}
	return nil
}

// lend notes what an operation of the recording uses, which is the next one, with the lock held.
// Memory that was written meanwhile by work which is no part of the graph is refused.
func (r *recording) lend(op string, uses []use) error {
	for _, u := range uses {
		if by := r.outside[u.block]; by != nil {
			return r.failed(op, fmt.Sprintf("the memory was written since Capture began, by %s%s, which is not part of the graph; use the stream that Capture gives for that, too, or do it before",
				by.op, at(by.site)))
		}
	}
	for _, u := range uses {
		have := r.lent[u.block]
		if have.access|u.access == have.access {
			continue
		}
		r.lent[u.block] = lent{have.access | u.access, len(r.memory)}
	}
	return nil
}

// failed is the error of an operation that a graph cannot hold, with the lock held. The capture
// fails with the first.
func (r *recording) failed(op, way string) error {
	err := &driver.Error{Op: op, Device: r.dev.name, Kind: ErrCapturing, Text: ErrCapturing.Error() + ": " + way}
	if r.err == nil {
		r.err = err
	}
	return err
}

// at is a line of a program in brackets, "" if it is not known.
func at(s callsite.Stack) string {
	if pos := s.Site().Pos; pos != "" {
		return " (" + pos + ")"
	}
	return ""
}

// all is the memory of both lists.
func (t *touched) all() []use {
	uses := slices.Clone(t.also)
	for _, u := range t.uses {
		if u.Buf != nil {
			uses = append(uses, use{&u.Buf.mem.block, u.Access})
		}
	}
	return uses
}
