package interp

import "math/bits"

// access is one access of a thread to memory in 64 bits: when it was, by the clock
// of the checker, where in the code, and which thread of its block made it. Zero is
// no access.
type access uint64

const (
	threadBits = 10
	siteBits   = 22
	maxSites   = 1 << siteBits
)

func newAccess(time uint32, site int32, thread int) access {
	return access(time)<<32 | access(site)<<threadBits | access(thread)
}

func (a access) time() uint32 { return uint32(a >> 32) }
func (a access) site() int32  { return int32(a >> threadBits & (maxSites - 1)) }
func (a access) thread() int  { return int(a & (1<<threadBits - 1)) }

// cell is what is known about a few bytes of memory: the last plain write, and who
// has read since. Two reads stand for all (see checker.note).
type cell struct {
	write access
	reads [2]access
}

// atomicCell is what atomic operations did to the bytes since the last plain write.
type atomicCell struct{ writes, loads [2]access }

// pageBytes is the memory that a page of the shadow covers.
const pageBytes = 1 << 12

// page has the cells of pageBytes of memory. All cover the same number of bytes: what
// the first access had, halved whenever a smaller one comes.
type page struct {
	shift   uint8 // log2 of the bytes of a cell
	cells   []cell
	atomics []atomicCell // nil until there is an atomic operation
}

// shadow holds the cells of all memory that was accessed.
type shadow struct {
	pages map[uint64]*page
	last  *page // of the page with number key
	key   uint64
}

// page returns the page of an aligned access of size bytes, with cells no larger.
func (s *shadow) page(addr uint64, size int) *page {
	key := addr / pageBytes
	p := s.last
	if p == nil || s.key != key {
		p = s.pages[key]
		if p == nil {
			shift := uint8(bits.TrailingZeros(uint(size)))
			p = &page{shift: shift, cells: make([]cell, pageBytes>>shift)}
			s.pages[key] = p
		}
		s.last, s.key = p, key
	}
	for size < 1<<p.shift {
		p.split()
	}
	return p
}

// split makes two cells of each.
func (p *page) split() {
	p.shift--
	p.cells = twice(p.cells)
	if p.atomics != nil {
		p.atomics = twice(p.atomics)
	}
}

func twice[T any](s []T) []T {
	out := make([]T, 0, 2*len(s))
	for _, x := range s {
		out = append(out, x, x)
	}
	return out
}

// atomic returns the part of cell i for atomic operations.
func (p *page) atomic(i int) *atomicCell {
	if p.atomics == nil {
		p.atomics = make([]atomicCell, len(p.cells))
	}
	return &p.atomics[i]
}
