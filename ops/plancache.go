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

// Limits are the numbers of a device that plans depend on.
type Limits struct {
	warp, threads, units, perUnit, shared, registers int
	cooperative                                      bool
}

// LimitsOf returns those of a device.
func LimitsOf(info *runtime.Info) Limits {
	return Limits{info.WarpSize, info.MaxThreads, info.Units, info.ThreadsPerUnit, info.SharedPerBlock, info.RegistersPerUnit, info.Cooperative}
}

// PlanKey is all that a plan depends on; addresses of operands are not.
type PlanKey struct {
	Device Limits
	DType  dtype.DType
	X, Out layout.Layout
	Dims   []int
	Number int
}

func (p *PlanKey) equal(q *PlanKey) bool {
	return p.DType == q.DType && p.Number == q.Number && p.Device == q.Device && slices.Equal(p.Dims, q.Dims) && alike(p.X, q.X) && alike(p.Out, q.Out)
}

// alike reports whether layouts have the same sizes and strides.
func alike(a, b layout.Layout) bool {
	return slices.Equal(a.Shape(), b.Shape()) && slices.Equal(a.Strides(), b.Strides())
}

// PlanCache is the last plans of an operation.
type PlanCache[P any] struct {
	slots [plansKept]atomic.Pointer[planSlot[P]]
	next  atomic.Uint32
}

type planSlot[P any] struct {
	of   PlanKey
	plan P
}

// Find returns what was kept for such a call, which nobody changes, or nil.
func (m *PlanCache[P]) Find(of *PlanKey) *P {
	for i := range m.slots {
		if s := m.slots[i].Load(); s != nil && s.of.equal(of) {
			return &s.plan
		}
	}
	return nil
}

// Put stores a plan in place of the oldest one.
func (m *PlanCache[P]) Put(of PlanKey, plan P) {
	of.Dims = slices.Clone(of.Dims)
	m.slots[(m.next.Add(1)-1)%plansKept].Store(&planSlot[P]{of, plan})
}
