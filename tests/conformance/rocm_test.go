package conformance_test

import (
	"testing"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/sim"
)

func TestMain(m *testing.M) { sim.Main(m) }

// The kernels as HIP text, on simulated AMD GPUs of both wave widths.
func TestROCm(t *testing.T) {
	for _, arch := range []string{"gfx942", "gfx1100"} {
		t.Run(arch, func(t *testing.T) {
			if arch == "gfx942" {
				tooltest.Sweep(t, "gfx1100")
			}
			conformance.RunSweep(t, sim.OpenROCm(t, arch))
		})
	}
}
