package interp

import (
	"math"
	"math/bits"
)

// checker looks for data races and for reads of shared memory that nobody wrote,
// while one worker runs all blocks of a launch, one after the other.
//
// Two accesses to a byte race if one is a plain write and the other not of the same
// thread, or one a plain read and the other an atomic write, and nothing orders them.
// Order comes from
//
//   - the program, for accesses of one thread;
//   - a barrier of the grid between the two;
//   - a barrier of the block between the two, for threads of the block;
//   - a barrier of the warp between the two, for lanes of the warp;
//   - a fence, an atomic write, and an atomic read of the same address (see handovers).
//
// Nothing else does: shuffles and votes exchange values, not memory, and the order in
// which the interpreter happens to run threads and blocks means nothing.
//
// A clock that ticks at barriers, releases and the start of a block decides all this
// from the time of an access: what was before the block's last barrier is in order
// with the whole block, what was before its start was another block's. Every conflict
// is found where it happens if there were none before; the first one ends the launch,
// so that the last plain write to a byte stands for all before it.
type checker struct {
	w *worker
	shadow
	handovers
	flights

	now     uint32   // the time
	start   uint32   // when the block started, or went on after a barrier of the grid
	since   uint32   // from when on writes to shared memory are the block's
	grid    uint32   // when all blocks last met
	barrier uint32   // when its threads last met, at least start
	warps   []uint32 // when the lanes of each warp last met
	starts  []uint32 // of all blocks, from number first; after a barrier of the grid all of them again
	first   int
	blind   bool    // it is not known what the block has written
	left    []int32 // by thread: block of code with which it returned, from 1

	warpShift int // log2 of the threads in a warp

	site   *site // of the access that is looked at
	shared bool  // that is in shared memory
	addrs  [MaxBlock]uint64
}

// newChecker returns a checker of one launch, which w runs.
func newChecker(w *worker, warp int) *checker {
	c := &checker{w: w, warpShift: bits.TrailingZeros(uint(warp)), warps: make([]uint32, MaxBlock/warp), left: make([]int32, MaxBlock)}
	c.known = make([]int32, MaxBlock)
	c.pages = map[uint64]*page{}
	return c
}

// kind is what an access does.
type kind uint8

const (
	plainRead kind = iota
	plainWrite
	atomicRead
	atomicWrite // without a read
	atomicUpdate
	zeroing // a plain write of a whole object
)

func (k kind) reads() bool  { return k == plainRead || k == atomicRead || k == atomicUpdate }
func (k kind) writes() bool { return k != plainRead && k != atomicRead }
func (k kind) atomic() bool { return k == atomicRead || k == atomicWrite || k == atomicUpdate }

// tick lets time pass. Should the clock overflow, after hours, all is forgotten: races
// between accesses before and after go unseen.
func (c *checker) tick() uint32 {
	if c.now == math.MaxUint32 {
		c.first += max(len(c.starts)-1, 0)
		c.now, c.start, c.since, c.grid, c.barrier, c.blind = 1, 1, 1, 1, 1, true
		c.starts = append(c.starts[:0], 1)
		clear(c.warps)
		c.shadow = shadow{pages: map[uint64]*page{}}
		c.handovers.forget()
	}
	c.now++
	return c.now
}

// beginBlock starts the next block.
func (c *checker) beginBlock() {
	c.start = c.tick()
	c.since, c.barrier, c.blind = c.start, c.start, false
	c.starts = append(c.starts, c.start)
	clear(c.left)
	c.handovers.beginBlock()
	c.flights.beginBlock()
}

// meetGrid is a barrier of the grid. Then each block is resumed.
func (c *checker) meetGrid() { c.grid = c.tick() }

// resume goes on with the block of w behind a barrier of the grid. No other block has its shared
// memory.
func (c *checker) resume(w *worker) {
	c.w = w
	c.beginBlock()
	c.since = 1
}

// meet is a barrier of the block.
func (c *checker) meet() {
	c.barrier = c.tick()
	c.share(0, c.w.threads)
}

// meetWarp is a barrier of the warp that starts at the given thread.
func (c *checker) meetWarp(first int) {
	c.warps[c.warpOf(first)] = c.tick()
	c.share(first, first+1<<c.warpShift)
}

// warpOf returns the warp of a thread.
func (c *checker) warpOf(thread int) int { return thread >> c.warpShift }

func (c *checker) warp(a access) int { return c.warpOf(a.thread()) }

// before reports whether a comes before what thread t of this block does now.
func (c *checker) before(a access, t int) bool {
	at := a.time()
	switch {
	case at < c.grid:
		return true
	case at < c.start:
		if c.shared { // an object of another block had this address
			return true
		}
	case at < c.barrier || a.thread() == t:
		return true
	case c.warp(a) == c.warpOf(t) && at < c.warps[c.warpOf(t)]:
		return true
	}
	return c.handed(a, t)
}

// conflict returns the first of two that is not in order with thread t.
func (c *checker) conflict(set *[2]access, t int) access {
	for _, a := range set {
		if a != 0 && !c.before(a, t) {
			return a
		}
	}
	return 0
}

// note adds an access to a set, of which it keeps at most two, such that whatever is
// not in order with one of the set is not in order with one of these: two of different
// blocks, or of different warps since the last barrier of the block, or of different
// threads since the last one of the warp, or else all there are. (Handovers order
// accesses, too, for which two may be too few: then a race may go unseen.)
func (c *checker) note(set *[2]access, me access) {
	a, b := set[0], set[1]
	switch {
	case a == 0 || a.time() < c.grid || a.time() < c.start && c.shared || c.start <= a.time() && a.time() < c.barrier:
		set[0], set[1] = me, 0
	case a.time() < c.start: // another block's
		set[1] = me
	case b != 0 && c.warp(a) != c.warp(b):
	case c.warp(a) != c.warp(me):
		set[1] = me
	case a.time() < c.warps[c.warp(me)]:
		set[0], set[1] = me, 0
	case a.thread() != me.thread() && b == 0:
		set[1] = me
	}
}

// verdict is what is wrong with an access: another one, a copy to the address that goes on, or
// that it reads what nobody has written.
type verdict struct {
	other access
	copy  access
	unset bool
}

func (v verdict) bad() bool { return v != verdict{} }

// touch looks at an access to size bytes, and remembers it.
func (c *checker) touch(k kind, addr uint64, size int, me access) (v verdict) {
	if c.shared && len(c.copied) > 0 {
		if a := c.underWay(addr, size); a != 0 {
			return verdict{copy: a}
		}
	}
	for size > 0 && !v.bad() {
		n := size
		if size > 8 || addr&uint64(size-1) != 0 || size&(size-1) != 0 {
			n = 1 << min(bits.TrailingZeros64(addr), bits.Len(uint(size))-1, 3)
		}
		p := c.page(addr, n)
		first := int(addr % pageBytes >> p.shift)
		for i := range n >> p.shift {
			if v = c.look(k, p, first+i, me); v.bad() {
				return v
			}
		}
		addr, size = addr+uint64(n), size-n
	}
	return v
}

// quick is touch for what most accesses are: plain, with a cell to itself on the page
// of the one before, and nothing since the last barrier but accesses of its own thread,
// or reads. It does nothing and reports false for all others.
func (c *checker) quick(k kind, addr, size uint64, me access) bool {
	p := c.last
	if k > plainWrite || c.shared && len(c.copied) > 0 || p == nil || addr/pageBytes != c.key || p.atomics != nil || 1<<p.shift != size || addr&(size-1) != 0 {
		return false
	}
	x := &p.cells[addr%pageBytes>>p.shift]
	if k == plainWrite {
		if !c.calm(x.write, me) || !c.calm(x.reads[0], me) || !c.calm(x.reads[1], me) {
			return false
		}
		*x = cell{write: me}
		return true
	}
	if c.shared && x.write.time() < c.start || !c.calm(x.write, me) {
		return false
	}
	switch a := x.reads[0]; {
	case a == 0:
		x.reads[0] = me
	case a.time() >= c.barrier && x.reads[1] != 0 && c.warp(a) != c.warp(x.reads[1]):
	default:
		c.note(&x.reads, me)
	}
	return true
}

// calm reports whether a was before the last barrier, or of the same thread.
func (c *checker) calm(a, me access) bool {
	at := a.time()
	return a == 0 || at < c.barrier && (at >= c.start || c.shared) || at >= c.barrier && (a^me)<<(64-threadBits) == 0
}

// look is touch for one cell.
func (c *checker) look(k kind, p *page, i int, me access) verdict {
	x, t := &p.cells[i], me.thread()
	if x.write != 0 && !c.before(x.write, t) {
		return verdict{other: x.write}
	}
	if p.atomics != nil && !k.atomic() {
		if a := c.conflict(&p.atomics[i].writes, t); a != 0 {
			return verdict{other: a}
		}
	}
	if c.shared && k.reads() && !c.isSet(p, i) {
		return verdict{unset: true}
	}
	if k.writes() {
		if a := c.conflict(&x.reads, t); a != 0 {
			return verdict{other: a}
		}
	}
	switch k {
	case plainRead:
		c.note(&x.reads, me)
	case atomicRead:
		c.note(&p.atomic(i).loads, me)
	case atomicWrite, atomicUpdate:
		c.note(&p.atomic(i).writes, me)
	default:
		return c.overwrite(p, i, me)
	}
	return verdict{}
}

// overwrite is a plain write in order with plain accesses and atomic writes. What came
// before comes before all that follow it.
func (c *checker) overwrite(p *page, i int, me access) verdict {
	if p.atomics != nil {
		if a := c.conflict(&p.atomics[i].loads, me.thread()); a != 0 {
			return verdict{other: a}
		}
		p.atomics[i] = atomicCell{}
	}
	p.cells[i] = cell{write: me}
	return verdict{}
}

// isSet reports whether the block has written cell i of shared memory.
func (c *checker) isSet(p *page, i int) bool {
	return c.blind || p.cells[i].write.time() >= c.since || p.atomics != nil && p.atomics[i].writes[0].time() >= c.since
}

// leave notes the lanes that return at the end of a block of code.
func (c *checker) leave(at int32) {
	each(c.w, func(i int) { c.left[c.w.first+i] = at + 1 })
}
