package conformance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime"
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
			if !tooltest.Sweeps() {
				sim.QuickROCm(t)
			}
			conformance.RunSweep(t, sim.OpenROCm(t, arch), i, devices)
		})
	}
}

// Products by the matrix instructions of each generation of AMD's devices, which the simulator has by
// the formulas of the manuals.
func TestROCmMatrix(t *testing.T) {
	sim.QuickROCm(t)
	for i, arch := range []string{"gfx90a", "gfx942", "gfx1100", "gfx1201"} {
		t.Run(arch, func(t *testing.T) { runProducts(t, sim.OpenROCm(t, arch), i) })
	}
}

// runProducts runs the products of tiles: all cases where KILN_SWEEP=all asks for them, half with
// KILN_SWEEP=each, of which two neighbours have all between them, and otherwise a product of every
// type, and a fifth of such cases as have the other kernels with every type. Cases that the device
// has no room or no numbers for are none of it.
func runProducts(t *testing.T, dev *runtime.Device, i int) {
	cases := slices.DeleteFunc(conformance.Cases(dev.WarpSize()), func(c conformance.Case) bool {
		return !strings.Contains(c.Name, "Tiles/") || c.Shared > dev.Info().SharedPerBlock ||
			dev.Info().Kind == "metal" && strings.Contains(c.Name, "float64")
	})
	switch {
	case tooltest.Whole():
	case tooltest.Sweeps():
		cases = share(cases, func(place int, _ string) bool { return (i+place)%2 == 0 })
	default:
		plain := func(_ int, name string) bool { return strings.HasPrefix(name, "Tiles/") }
		others := conformance.Some(share(cases, func(_ int, name string) bool { return !plain(0, name) }))
		cases = slices.Concat(conformance.Some(share(cases, plain)),
			share(others, func(place int, _ string) bool { return place%5 == i }))
	}
	require.NotEmpty(t, cases)
	t.Run("products", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				require.NoError(t, conformance.Check(dev, c))
			})
		}
	})
}

func share(cases []conformance.Case, has func(place int, name string) bool) (out []conformance.Case) {
	for place, c := range cases {
		if has(place, c.Name) {
			out = append(out, c)
		}
	}
	return out
}
