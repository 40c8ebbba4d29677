package compiler

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/target"
)

// What package code knows of targets and what is emitted for them are two tables.
func TestFormats(t *testing.T) {
	for _, b := range backends {
		assert.NotEmpty(t, code.FormatOf(target.Target{Kind: b.kind}), b.kind)
	}
	got, err := code.TargetFor([]string{"unknown", code.FormatIR}, "")
	assert.NoError(t, err)
	assert.Equal(t, target.CPU, got)
	_, err = code.TargetFor([]string{"abacus"}, "")
	assert.ErrorContains(t, err, "the device loads [abacus]")
	assert.Empty(t, code.FormatOf(target.Target{Kind: "abacus"}))
	assert.Zero(t, code.Assumes(target.Target{Kind: "abacus"}))
}
