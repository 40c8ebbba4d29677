package devices

import (
	"os"
	"testing"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tests/sim"
)

// OnEach runs a test on the CPU as machine code and in the interpreter, and on simulated GPUs or the
// device that KILN_DEVICE names. The package's TestMain is sim.Main.
func OnEach(t *testing.T, f func(t *testing.T, d *tensor.Device)) {
	names := []string{"cpu", "cpu:interp"}
	named := os.Getenv("KILN_DEVICE")
	if named != "" {
		names = append(names, named)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			d, err := tensor.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			f(t, d)
		})
	}
	if named != "" {
		return
	}
	t.Run("gfx942", func(t *testing.T) {
		sim.QuickROCm(t)
		f(t, tensor.On(sim.OpenROCm(t, "gfx942")))
	})
	t.Run("metal", func(t *testing.T) {
		sim.QuickMetal(t)
		f(t, tensor.On(sim.OpenMetal(t)))
	})
}

// Everything reports whether all cases are tested on a device: simulated GPUs, whose compiler takes a
// second for a few kernels, and the interpreter, for which each kernel is compiled once more, have a
// part of them unless a sweep asks for all.
func Everything(d *tensor.Device) bool {
	return tooltest.Sweeps() || d.Name() == "cpu" || os.Getenv("KILN_DEVICE") != ""
}
