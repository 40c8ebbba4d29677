package runtime

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// block is memory that graphs can hold: what they hold is freed behind the last of
// them. A launch has only addresses, so a device keeps a list of its blocks.
type block struct {
	addr  driver.Addr
	size  int64
	owner releaser
	host  bool // page-locked; its addresses are the host's

	fault    atomic.Pointer[driver.Error] // that the content depends on; set with the ring's lock held
	released atomic.Bool

	// Guarded by the list.
	wanted bool  // it was freed while graphs held it
	graphs int32 // that hold it
	place  int   // in the list
}

// releaser frees memory that no graph holds any more.
type releaser interface{ release() error }

// blockList is the memory of a device.
type blockList struct {
	mu           sync.Mutex
	device, host blocks // whose addresses may be the same numbers
}

// blocks are in the order of their addresses only when one is asked for: graphs do so, and
// far more rarely than memory comes and goes.
type blocks struct {
	list   []*block
	sorted bool
}

func (l *blockList) side(host bool) *blocks {
	if host {
		return &l.host
	}
	return &l.device
}

// find returns the block that an address is in, nil if there is none.
func (s *blocks) find(a driver.Addr) *block {
	if !s.sorted {
		slices.SortFunc(s.list, func(a, b *block) int { return cmp.Compare(a.addr, b.addr) })
		for i, b := range s.list {
			b.place = i
		}
		s.sorted = true
	}
	at, ok := slices.BinarySearchFunc(s.list, a, func(b *block, a driver.Addr) int {
		switch {
		case b.addr > a:
			return 1
		case a-b.addr >= driver.Addr(b.size):
			return -1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return s.list[at]
}

func (l *blockList) add(b *block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.side(b.host)
	b.place, s.sorted = len(s.list), false
	s.list = append(s.list, b)
}

// drop takes a block off the list, with the lock held.
func (l *blockList) drop(b *block) {
	s := l.side(b.host)
	last := len(s.list) - 1
	if b.place > last || s.list[b.place] != b {
		return // it never was on it
	}
	if b.place != last {
		s.list[b.place], s.sorted = s.list[last], false
		s.list[b.place].place = b.place
	}
	s.list[last] = nil
	s.list = s.list[:last]
}

// free reports whether a block that is to be freed can be. If not the last graph
// that holds it frees it.
func (l *blockList) free(b *block) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.graphs > 0 {
		b.wanted = true
		return false
	}
	l.drop(b)
	return true
}

// want undoes that a block which a graph holds is to be freed.
func (l *blockList) want(b *block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b.wanted = false
}

// hold has a graph, which holds some blocks, hold the one that an address is in, which it
// returns, nil if there is none.
func (l *blockList) hold(a driver.Addr, host bool, held map[*block]struct{}) *block {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.side(host).find(a)
	if b == nil {
		return nil
	}
	if _, ok := held[b]; !ok {
		if b.wanted {
			return nil
		}
		b.graphs++
		held[b] = struct{}{}
	}
	return b
}

// words appends the blocks of the device whose addresses are among the aligned words of an
// argument block: nothing else says which memory a kernel uses.
func (l *blockList) words(uses []use, args []byte) []use {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; len(args) >= 8; args = args[8:] {
		if b := l.device.find(driver.Addr(binary.LittleEndian.Uint64(args))); b != nil {
			uses = append(uses, use{b, Reads | Writes})
		}
	}
	return uses
}

// letGo has one graph less hold a block, and frees the block if it is to be freed.
func (l *blockList) letGo(b *block) error {
	l.mu.Lock()
	b.graphs--
	last := b.graphs == 0 && b.wanted
	if last {
		l.drop(b)
	}
	l.mu.Unlock()
	if last {
		return b.owner.release()
	}
	return nil
}
