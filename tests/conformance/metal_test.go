package conformance_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/sim"
)

// lacking is what the compiler says of kernels that Metal cannot have.
var lacking = regexp.MustCompile(`f64.* is not available on msl:\S+: Metal has no 64-bit floats|no 64-bit atomics on all devices`)

// The kernels in Metal's language, on the simulated Apple GPU. Those with what Metal
// lacks are refused by the compiler, with the reason; every other difference to plain
// Go is a failure. The device log needs 64-bit atomics, so there is none.
func TestMetal(t *testing.T) {
	dev := sim.OpenMetal(t)
	ran, refused := 0, 0
	for _, c := range conformance.Cases(dev.WarpSize()) {
		t.Run(c.Name, func(t *testing.T) {
			err := conformance.Check(dev, c)
			if err != nil && lacking.MatchString(err.Error()) {
				refused++
				t.Skipf("unsupported: %v", err)
			}
			ran++
			require.NoError(t, err)
		})
	}
	t.Logf("%d cases ran, %d are unsupported", ran, refused)
	require.Greater(t, ran, refused)
}
