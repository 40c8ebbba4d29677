package file

import (
	"runtime"
	"sync/atomic"
)

// View is bytes of a file. They must not be written to: the system ends a program that
// writes into a mapped file. They are there until the View is released or, if it never
// is, collected; who keeps the bytes keeps the View too, by a field beside them or by
// [runtime.KeepAlive].
type View struct {
	data    []byte
	hold    *hold // on the mapping that data lies in; nil for memory of Go
	cleanup runtime.Cleanup
	fresh   bool // nobody else has the bytes
}

// NewView returns a View of bytes in memory, which are its own from now on.
func NewView(b []byte) *View { return &View{data: b, fresh: true} }

// Bytes is the bytes, nil after Release.
func (v *View) Bytes() []byte { return v.data }

// Release gives the bytes up, which nobody may touch any more. It need not be called,
// but a file that is to be removed on Windows cannot be before.
func (v *View) Release() {
	v.data = nil
	if v.hold != nil {
		v.cleanup.Stop()
		v.hold.release()
	}
}

// mapping is memory that goes when the last hold on it does.
type mapping struct {
	data  []byte
	free  func([]byte) // nil for memory of Go
	holds atomic.Int64
}

// hold is a share in a mapping.
type hold struct {
	m    *mapping
	gone atomic.Bool
}

// take returns a share, nil if the mapping has gone.
func (m *mapping) take() *hold {
	for {
		n := m.holds.Load()
		if n == 0 {
			return nil
		}
		if m.holds.CompareAndSwap(n, n+1) {
			return &hold{m: m}
		}
	}
}

func (h *hold) release() {
	if !h.gone.Swap(true) && h.m.holds.Add(-1) == 0 && h.m.free != nil {
		h.m.free(h.m.data)
	}
}

// view returns a view of a part of a mapping, for the share that it was given.
func (h *hold) view(off, n int64) *View {
	v := &View{data: h.m.data[off : off+n : off+n], hold: h}
	v.cleanup = runtime.AddCleanup(v, (*hold).release, h)
	return v
}
