package irconf_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/hip"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/irconf"
	"github.com/gokiln/kiln/tests/sim"
)

func TestMain(m *testing.M) { sim.Main(m) }

// TestROCm runs every case on simulated AMD GPUs of both wave widths, as HIP text
// through the driver.
func TestROCm(t *testing.T) {
	for _, arch := range []string{"gfx942", "gfx1100"} {
		t.Run(arch, func(t *testing.T) {
			if arch == "gfx942" {
				tooltest.Sweep(t, "gfx1100")
			}
			dev := sim.OpenROCm(t, arch)
			tgt, err := target.Parse("hip:" + arch)
			require.NoError(t, err)
			cases := irconf.CasesFor(dev.WarpSize())
			const batch = 300
			for first := 0; first < len(cases); first += batch {
				runROCm(t, dev, tgt, cases[first:min(first+batch, len(cases))])
			}
		})
	}
}

// runROCm compiles cases as one text and runs them.
func runROCm(t *testing.T, dev *runtime.Device, tgt target.Target, cases []irconf.Case) {
	text, err := irconf.Together(hip.Language, tgt, cases)
	require.NoError(t, err)
	mod, err := dev.Load(runtime.Image{Format: "hip", Name: "irconf", Code: []byte(text)})
	require.NoError(t, err)
	for i, c := range cases {
		fn, err := mod.Function(fmt.Sprintf("k%d", i))
		require.NoError(t, err, c.Name)
		got, err := irconf.Run(dev, fn, c)
		require.NoError(t, err, c.Name)
		require.NoError(t, c.Check(got))
	}
}
