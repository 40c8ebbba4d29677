package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance"
)

// TestInterpreterWarps runs everything on the interpreter with warps as native code
// has them: it runs what native code leaves to it, and native code is compared with it.
func TestInterpreterWarps(t *testing.T) {
	for _, name := range []string{"interp16", "interp8"} {
		t.Run(name, func(t *testing.T) {
			dev, err := runtime.Open("cpu:" + name)
			require.NoError(t, err)
			defer func() { require.NoError(t, dev.Close()) }()
			conformance.RunAll(t, dev)
		})
	}
}
