package ops

import (
	"slices"
	"sync/atomic"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// Programs call the same operations with the same shapes again and again. To plan a launch
// takes about as long as to launch a kernel, so the last plans are kept.

// plansKept is how many an operation keeps.
const plansKept = 8

// limits are the numbers of a device that plans depend on.
type limits struct {
	warp, threads, units, perUnit, shared, registers int
	cooperative                                      bool
}

func limitsOf(info *runtime.Info) limits {
	return limits{info.WarpSize, info.MaxThreads, info.Units, info.ThreadsPerUnit, info.SharedPerBlock, info.RegistersPerUnit, info.Cooperative}
}

// planned is all that a plan depends on, where operands begin is not.
type planned struct {
	on     limits
	d      dtype.DType
	x, out layout.Layout
	dims   []int
	number int
}

func (p *planned) equal(q *planned) bool {
	return p.d == q.d && p.number == q.number && p.on == q.on && slices.Equal(p.dims, q.dims) && alike(p.x, q.x) && alike(p.out, q.out)
}

// alike reports whether layouts have the same sizes and strides.
func alike(a, b layout.Layout) bool {
	return slices.Equal(a.Shape(), b.Shape()) && slices.Equal(a.Strides(), b.Strides())
}

// memo is the last plans of an operation.
type memo[P any] struct {
	slots [plansKept]atomic.Pointer[memoSlot[P]]
	turn  atomic.Uint32
}

type memoSlot[P any] struct {
	of   planned
	plan P
}

// find returns what was kept for such a call, which nobody changes, or nil.
func (m *memo[P]) find(of *planned) *P {
	for i := range m.slots {
		if s := m.slots[i].Load(); s != nil && s.of.equal(of) {
			return &s.plan
		}
	}
	return nil
}

// keep keeps a plan in the place of the oldest one.
func (m *memo[P]) keep(of planned, plan P) {
	of.dims = slices.Clone(of.dims)
	m.slots[(m.turn.Add(1)-1)%plansKept].Store(&memoSlot[P]{of, plan})
}
