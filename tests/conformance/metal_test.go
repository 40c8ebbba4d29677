package conformance_test

import (
	"errors"
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
	if !tooltest.Sweeps() {
		sim.QuickMetal(t)
	}
	conformance.RunSweep(t, sim.OpenMetal(t), 2, devices)
}

// Products by matrices of simdgroups, which the simulator has by the formula of MLX.
func TestMetalMatrix(t *testing.T) {
	sim.QuickMetal(t)
	runProducts(t, sim.OpenMetal(t), 4)
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
