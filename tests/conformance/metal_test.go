package conformance_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/sim"
)

// The kernels in Metal's language, on the simulated Apple GPU. Those with what Metal
// lacks are refused by the compiler, with the reason; every other difference to plain
// Go is a failure.
func TestMetal(t *testing.T) {
	conformance.RunSweep(t, sim.OpenMetal(t), 2, devices)
}

// Products by matrices of simdgroups, which the simulator has by the formula of MLX; half of the cases
// where KILN_SWEEP=all does not ask for all.
func TestMetalMatrix(t *testing.T) {
	dev := sim.OpenMetal(t)
	t.Run("products", func(t *testing.T) {
		for i, c := range conformance.Cases(dev.WarpSize()) {
			if strings.Contains(c.Name, "Tiles/") && (tooltest.Whole() || i%2 == 0) && !strings.Contains(c.Name, "float64") && c.Shared <= dev.Info().SharedPerBlock {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					require.NoError(t, conformance.Check(dev, c))
				})
			}
		}
	})
}

// What is refused on Metal is what Metal lacks, and is the smaller part.
func TestMetalLacks(t *testing.T) {
	if !tooltest.Whole() {
		t.Skip("KILN_SWEEP=all asks for it; otherwise there is TestMetal, which runs the same kernels")
	}
	dev := sim.OpenMetal(t)
	ran, refused := 0, 0
	for _, c := range conformance.Cases(dev.WarpSize()) {
		err := conformance.Check(dev, c)
		if c.Shared > dev.Info().SharedPerBlock && err != nil {
			require.ErrorContains(t, err, "bytes of shared memory", c.Name)
			continue
		}
		if !errors.Is(err, compiler.ErrUnsupported) {
			require.NoError(t, err, c.Name)
			ran++
			continue
		}
		refused++
		require.Regexp(t, `f64.* is not available on msl:\S+: Metal has no 64-bit floats|no 64-bit atomics on all devices`, err.Error(), c.Name)
	}
	t.Logf("%d cases ran, %d are unsupported", ran, refused)
	require.Greater(t, ran, refused)
}
