package conformance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/sim"
)

func TestMain(m *testing.M) { sim.Main(m) }

// devices are the simulated GPUs that have all cases between them, with KILN_SWEEP=each: the
// emitters of HIP and of Metal's language are one, and have rows of their own where their languages
// differ.
const devices = 3

// The kernels as HIP text, on simulated AMD GPUs of both wave widths.
func TestROCm(t *testing.T) {
	for i, arch := range []string{"gfx942", "gfx1100"} {
		t.Run(arch, func(t *testing.T) {
			if arch == "gfx942" {
				tooltest.Sweep(t, "gfx1100")
			}
			conformance.RunSweep(t, sim.OpenROCm(t, arch), i, devices)
		})
	}
}

// Products by the matrix instructions of each generation of AMD's devices, which the simulator has by
// the formulas of the manuals. Neighbours have half of the cases each where KILN_SWEEP=all does not
// ask for all.
func TestROCmMatrix(t *testing.T) {
	for i, arch := range []string{"gfx90a", "gfx942", "gfx1100", "gfx1201"} {
		t.Run(arch, func(t *testing.T) {
			dev := sim.OpenROCm(t, arch)
			t.Run("products", func(t *testing.T) {
				for j, c := range conformance.Cases(dev.WarpSize()) {
					if strings.Contains(c.Name, "Tiles/") && (tooltest.Whole() || (i+j)%2 == 0) && c.Shared <= dev.Info().SharedPerBlock {
						t.Run(c.Name, func(t *testing.T) {
							t.Parallel()
							require.NoError(t, conformance.Check(dev, c))
						})
					}
				}
			})
		})
	}
}
