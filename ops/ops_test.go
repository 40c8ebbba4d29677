package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// TestOps tests every operation on every engine of the CPU that this machine has.
func TestOps(t *testing.T) {
	for _, name := range []string{"cpu", "cpu:interp"} {
		t.Run(name, func(t *testing.T) {
			dev, err := runtime.Open(name)
			require.NoError(t, err)
			defer dev.Close()
			opstest.RunAll(t, dev)
		})
	}
}
