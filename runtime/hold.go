package runtime

import (
	"slices"
	"sync"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// block is memory that graphs can hold: what they hold is freed behind the last of
// them. A launch tells only addresses, so a device keeps a list of its blocks.
type block struct {
	addr  driver.Addr
	size  int64
	host  bool // page-locked; its addresses are the host's
	owner releaser

	// Guarded by the list.
	graphs int  // that hold it
	wanted bool // it was freed while they did
}

// releaser frees memory that no graph holds any more.
type releaser interface{ release() error }

// blockList is the memory of a device, by address.
type blockList struct {
	mu           sync.Mutex
	device, host []*block // whose addresses may be the same numbers
}

func (l *blockList) side(host bool) *[]*block {
	if host {
		return &l.host
	}
	return &l.device
}

// search finds the place of the block that an address is in.
func search(list []*block, a driver.Addr) (int, bool) {
	return slices.BinarySearchFunc(list, a, func(b *block, a driver.Addr) int {
		switch {
		case b.addr > a:
			return 1
		case a-b.addr >= driver.Addr(b.size):
			return -1
		}
		return 0
	})
}

func (l *blockList) add(b *block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.side(b.host)
	at, _ := search(*list, b.addr)
	*list = slices.Insert(*list, at, b)
}

// drop takes a block off the list, with the lock held.
func (l *blockList) drop(b *block) {
	list := l.side(b.host)
	if at, ok := search(*list, b.addr); ok && (*list)[at] == b {
		*list = slices.Delete(*list, at, at+1)
	}
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

// hold has a graph, which holds some blocks, hold the one that an address is in. It
// reports whether there is one.
func (l *blockList) hold(a driver.Addr, host bool, held map[*block]struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := *l.side(host)
	at, ok := search(list, a)
	if !ok {
		return false
	}
	b := list[at]
	if _, ok := held[b]; !ok {
		if b.wanted {
			return false
		}
		b.graphs++
		held[b] = struct{}{}
	}
	return true
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
