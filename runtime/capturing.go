package runtime

import (
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// capturing knows which goroutines are inside of a function that Capture has called.
// To launch on the default stream there, by a function that takes no stream, is the
// mistake that is easiest to make: it would work once, and be missing in the graph.
type capturing struct {
	count atomic.Int32
	mu    sync.Mutex
	by    map[uint64]*recording
}

// begin notes the recording of the calling goroutine, until the function that it
// returns is called.
func (c *capturing) begin(r *recording) (end func()) {
	id := goroutine()
	outer := c.set(id, r)
	c.count.Add(1)
	return func() {
		c.count.Add(-1)
		c.set(id, outer)
	}
}

// set returns what was set before.
func (c *capturing) set(id uint64, r *recording) *recording {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.by[id]
	switch {
	case r == nil:
		delete(c.by, id)
	case c.by == nil:
		c.by = map[uint64]*recording{id: r}
	default:
		c.by[id] = r
	}
	return before
}

// here returns the recording of the calling goroutine, nil if there is none.
func (c *capturing) here() *recording {
	if c.count.Load() == 0 {
		return nil
	}
	id := goroutine()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[id]
}

// goroutine is the number of the calling goroutine, which stack traces begin with.
// Nothing else tells a call inside of a capture from one of another goroutine.
func goroutine() uint64 {
	var buf [64]byte
	text := string(buf[:goruntime.Stack(buf[:], false)])
	text = strings.TrimPrefix(text, "goroutine ")
	number, _, _ := strings.Cut(text, " ")
	// What is no number would be a Go that prints its stacks in another way; a
	// test notices.
	id, _ := strconv.ParseUint(number, 10, 64)
	return id
}
