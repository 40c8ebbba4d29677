package dsl_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/dsl"
)

type (
	metres  float32
	seconds float64
	steps   int16
	ticks   uint64
)

// Types derived from those of the constraints convert by value like these.
func TestDerivedTypes(t *testing.T) {
	assert.Equal(t, metres(2.5), dsl.To[metres](2.5))
	assert.Equal(t, seconds(2.5), dsl.To[seconds](2.5))
	assert.Equal(t, metres(0.25), dsl.Convert[metres](seconds(0.25)))
	assert.Equal(t, seconds(1<<53), dsl.Convert[seconds](ticks(1<<53+1)))
	assert.Equal(t, steps(32767), dsl.Convert[steps](seconds(1e9)))
	assert.Equal(t, steps(-3), dsl.Convert[steps](metres(-3.9)))
	assert.Equal(t, ticks(0), dsl.Convert[ticks](metres(-1)))
	assert.Equal(t, float32(-7), dsl.F32(steps(-7)))
	assert.Equal(t, 7.0, dsl.F64(ticks(7)))
	assert.Equal(t, dsl.To[dsl.F16](float32(1.5)), dsl.Convert[dsl.F16](metres(1.5)))
	assert.Equal(t, metres(1), dsl.Exp(metres(0)))
	assert.Equal(t, seconds(3), dsl.Sqrt(seconds(9)))
}
