package runtime

import "sync/atomic"

// change is the last one of a buffer's contents that was noted, and how many there were.
type change struct {
	count uint64
	by    any
}

// changes is the last change, nil if there was none.
type changes struct{ last atomic.Pointer[change] }

// NoteChange counts a change of the contents, with what made it. The runtime does not look at what
// kernels and copies write: a library that keeps what it computed of a buffer calls NoteChange
// where it writes to memory that others read, and sees by [Buffer.Changes] whether what it has kept
// is stale.
func (b *Buffer) NoteChange(by any) {
	for {
		was := b.changes.last.Load()
		next := &change{count: 1, by: by}
		if was != nil {
			next.count += was.count
		}
		if b.changes.last.CompareAndSwap(was, next) {
			return
		}
	}
}

// Changes returns how many changes of the contents were noted, and what made the last one.
func (b *Buffer) Changes() (count uint64, last any) {
	if c := b.changes.last.Load(); c != nil {
		return c.count, c.by
	}
	return 0, nil
}
