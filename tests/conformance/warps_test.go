package conformance_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance"
)

// TestInterpreterWarps runs everything on the interpreter with warps as native code
// has them: it runs what native code leaves to it, and native code is compared with it.
func TestInterpreterWarps(t *testing.T) {
	for i, name := range []string{"interp16", "interp8"} {
		t.Run(name, func(t *testing.T) {
			if name == "interp16" {
				tooltest.Sweep(t, "warps of 8 and of 32 threads")
			}
			dev, err := runtime.Open("cpu:" + name)
			require.NoError(t, err)
			defer func() { require.NoError(t, dev.Close()) }()
			conformance.RunSweep(t, dev, i, 2)
		})
	}
}

// TestTreesAsGo runs reductions and scans as plain Go with warps of every width.
func TestTreesAsGo(t *testing.T) {
	for _, warp := range []int{1, 4, 8, 16, 32, 64} {
		t.Run(fmt.Sprint(warp), func(t *testing.T) {
			if warp >= 16 {
				tooltest.Sweep(t, "warps of fewer threads")
			}
			conformance.RunTreesAsGo(t, warp)
		})
	}
}
