package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// TestCases runs every kernel, small, against its reference in plain Go.
func TestCases(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			p, err := k.build(dev, true)
			require.NoError(t, err)
			defer p.free()
			require.NoError(t, p.reset())
			require.Error(t, p.check(), "before the launch")
			require.NoError(t, jit.Of(k.kernel).Launch(dev.DefaultStream(), p.grid, p.args...))
			require.NoError(t, p.check())
		})
	}
}
