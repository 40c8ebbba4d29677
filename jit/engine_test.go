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

// Each engine of the CPU runs what is launched and what is checked, and a launch of a
// small kernel allocates nothing, whether it is run at once or not.
func TestEngines(t *testing.T) {
	engine.Each(t, func(t *testing.T, dev *runtime.Device) {
		s := dev.DefaultStream()
		x := upload(t, dev, float32(1), 2, 3)
		scale := jit.Of(testkernels.Scale[float32])
		for _, k := range []*jit.Kernel{scale, scale.Checked()} {
			for range 3 {
				require.NoError(t, k.Launch(s, runtime.Cover(3, 64), x, float32(2)))
			}
			require.NoError(t, s.Sync())
			if k == scale && !raceEnabled {
				assert.Zero(t, testing.AllocsPerRun(100, func() { _ = k.Launch(s, runtime.Cover(3, 64), x, float32(1)) }))
			}
		}
		got, err := x.Host()
		require.NoError(t, err)
		assert.Equal(t, []float32{64, 128, 192}, got)
	})
}
