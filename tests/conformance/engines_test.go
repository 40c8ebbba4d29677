package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance"
)

// TestEngines runs everything on each engine of the CPU, the interpreter with the
// warps of native code included.
func TestEngines(t *testing.T) {
	for _, name := range []string{"avx512", "avx2", "interp16", "interp8"} {
		t.Run(name, func(t *testing.T) {
			dev, err := runtime.Open("cpu:" + name)
			if err != nil {
				t.Skip(err) // "this processor has not …"
			}
			defer func() { require.NoError(t, dev.Close()) }()
			conformance.RunAll(t, dev)
		})
	}
}
