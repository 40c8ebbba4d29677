package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
)

// TestPlanCache tests that a plan is found for the call it was made for and for no other, and
// that the oldest one is evicted.
func TestPlanCache(t *testing.T) {
	x, out := layout.Contiguous(layout.Shape{4, 8}), layout.Contiguous(layout.Shape{4})
	turned, err := x.Transpose(0, 1)
	assert.NoError(t, err)
	call := func() PlanKey { return PlanKey{Limits{warp: 32}, dtype.F32, x, out, []int{1}, 1} }
	others := map[string]func(p *PlanKey){
		"device": func(p *PlanKey) { p.Device.units++ },
		"type":   func(p *PlanKey) { p.DType = dtype.BF16 },
		"x":      func(p *PlanKey) { p.X = turned },
		"shape":  func(p *PlanKey) { p.X = layout.Contiguous(layout.Shape{8, 4}) },
		"out":    func(p *PlanKey) { p.Out = layout.Contiguous(layout.Shape{4, 1}) },
		"dims":   func(p *PlanKey) { p.Dims = []int{0} },
		"number": func(p *PlanKey) { p.Number = 0 },
	}
	var m PlanCache[int]
	own := call()
	assert.Nil(t, m.Find(&own))
	m.Put(own, 7)
	own.Dims[0] = 0 // the caller's to change
	again := call()
	if assert.NotNil(t, m.Find(&again)) {
		assert.Equal(t, 7, *m.Find(&again))
	}
	for name, change := range others {
		other := call()
		change(&other)
		assert.Nil(t, m.Find(&other), name)
	}
	for i := range plansKept {
		assert.NotNil(t, m.Find(&again), "after %d others", i)
		other := call()
		other.Number = 2 + i
		m.Put(other, i)
	}
	assert.Nil(t, m.Find(&again), "the oldest one")
}
