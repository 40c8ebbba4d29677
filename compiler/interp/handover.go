package interp

import "slices"

// handovers are the protocols by which threads pass data on without a barrier: one writes
// it, executes a fence and writes a flag, counter or lock by an atomic operation (a
// release); another reads that by an atomic operation and then the data.
//
// The check errs on the side of order, to be silent about code that is right: any fence
// that the block executed before the atomic write will do; the reader's fence is not
// asked for; and who reads what one release wrote is in order with all releases before
// it, wherever they wrote. What a release covers, though, is exact: what its thread did
// before, and what barriers put before that.
type handovers struct {
	fenced   bool             // the block has executed a fence
	device   bool             // and one for the whole device
	releases []release        // of the launch, in order
	flags    map[uint64]int32 // by address: how many releases there were after the last to it
	known    []int32          // by thread: of how many releases it knows
	unfenced bool             // there was an atomic write without a fence before it
	informed bool             // some thread of the block knows of a release
	full     bool             // there were too many: all is taken to be in order
}

// release is an atomic write after a fence.
type release struct {
	at      uint32 // accesses of its thread up to this time come before
	barrier uint32 // accesses of its block before this time do
	warp    uint32 // accesses of its warp before this time do
	thread  int16
	device  bool // it counts for other blocks, too
}

const maxReleases = 1 << 22

func (h *handovers) forget() {
	h.releases, h.flags = nil, nil
	h.beginBlock()
}

func (h *handovers) beginBlock() {
	h.fenced, h.device = false, false
	if h.informed {
		clear(h.known)
		h.informed = false
	}
}

// share raises the clocks of threads from to to to the largest of them.
func (h *handovers) share(from, to int) {
	if h.informed {
		known := h.known[from:to]
		most := slices.Max(known)
		for i := range known {
			known[i] = most
		}
	}
}

// acquire is an atomic read by thread t.
func (h *handovers) acquire(addr uint64, t int) {
	if n := h.flags[addr]; n > h.known[t] {
		h.known[t], h.informed = n, true
	}
}

// release is an atomic write by thread t.
func (c *checker) release(addr uint64, t int) {
	if !c.fenced || c.full {
		c.unfenced = c.unfenced || !c.fenced
		return
	}
	if len(c.releases) >= maxReleases {
		c.full = true
		c.handovers.releases, c.flags = nil, nil
		return
	}
	c.releases = append(c.releases, release{c.now, c.barrier, c.warps[c.warpOf(t)], int16(t), c.device})
	if c.flags == nil {
		c.flags = map[uint64]int32{}
	}
	c.flags[addr] = int32(len(c.releases))
	c.tick()
}

// handed reports whether a comes before a release that thread t of this block knows of.
func (c *checker) handed(a access, t int) bool {
	if c.full {
		return true
	}
	at, end := a.time(), c.endOf(a)
	i, _ := slices.BinarySearchFunc(c.releases, at, func(r release, at uint32) int {
		if r.at < at {
			return -1
		}
		return 1
	})
	for ; i < int(c.known[t]) && c.releases[i].at < end; i++ {
		r := &c.releases[i]
		if at < c.start && !r.device {
			continue
		}
		if at < r.barrier || int(r.thread) == a.thread() || c.warpOf(int(r.thread)) == c.warp(a) && at < r.warp {
			return true
		}
	}
	return false
}

// blockOf returns the number of the block that made an access.
func (c *checker) blockOf(a access) int { return c.first + c.indexOf(a) }

func (c *checker) indexOf(a access) int {
	i, found := slices.BinarySearch(c.starts, a.time())
	if found {
		return i
	}
	return i - 1
}

// endOf returns the time when the block that made a had ended.
func (c *checker) endOf(a access) uint32 {
	if i := c.indexOf(a) + 1; i < len(c.starts) {
		return c.starts[i]
	}
	return ^uint32(0)
}
