package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
)

// TestMemo tests that a plan is found for the call it was made for and for no other, and
// that the oldest one gives way.
func TestMemo(t *testing.T) {
	x, out := layout.Contiguous(layout.Shape{4, 8}), layout.Contiguous(layout.Shape{4})
	turned, err := x.Transpose(0, 1)
	assert.NoError(t, err)
	call := func() planned { return planned{limits{warp: 32}, dtype.F32, x, out, []int{1}, 1} }
	others := map[string]func(p *planned){
		"device": func(p *planned) { p.on.units++ },
		"type":   func(p *planned) { p.d = dtype.BF16 },
		"x":      func(p *planned) { p.x = turned },
		"shape":  func(p *planned) { p.x = layout.Contiguous(layout.Shape{8, 4}) },
		"out":    func(p *planned) { p.out = layout.Contiguous(layout.Shape{4, 1}) },
		"dims":   func(p *planned) { p.dims = []int{0} },
		"number": func(p *planned) { p.number = 0 },
	}
	var m memo[int]
	own := call()
	assert.Nil(t, m.find(&own))
	m.keep(own, 7)
	own.dims[0] = 0 // the caller's to change
	again := call()
	if assert.NotNil(t, m.find(&again)) {
		assert.Equal(t, 7, *m.find(&again))
	}
	for name, change := range others {
		other := call()
		change(&other)
		assert.Nil(t, m.find(&other), name)
	}
	for i := range plansKept {
		assert.NotNil(t, m.find(&again), "after %d others", i)
		other := call()
		other.number = 2 + i
		m.keep(other, i)
	}
	assert.Nil(t, m.find(&again), "the oldest one")
}
