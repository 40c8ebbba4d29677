package jit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/engine"
)

// Kernels are launched into a graph as on any stream, also those that are compiled
// during capture.
func TestGraph(t *testing.T) {
	engine.Each(t, func(t *testing.T, dev *runtime.Device) {
		x := upload(t, dev, int32(1), 2, 3)
		scale := jit.Of(testkernels.Scale[int32])
		g, err := dev.Capture(func(s *runtime.Stream) error {
			for range 2 {
				if err := scale.Launch(s, runtime.Cover(3, 64), x, int32(2)); err != nil {
					return err
				}
			}
			return scale.Checked().Launch(s, runtime.Cover(3, 64), x, int32(-1))
		})
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, g.Launch(dev.DefaultStream()))
		}
		got, err := x.Host()
		require.NoError(t, err)
		assert.Equal(t, []int32{-64, -128, -192}, got)
		require.NoError(t, g.Close())
	})
}
