package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// devices are the engines of the CPU and the GPUs of this machine, one of each kind.
func devices() []string {
	names, kinds := []string{"cpu", "cpu:interp"}, map[string]bool{"cpu": true}
	for _, d := range runtime.Devices() {
		if !kinds[d.Kind] {
			names, kinds[d.Kind] = append(names, d.Name), true
		}
	}
	return names
}

// TestOps tests every operation on the engines of the CPU and on the GPUs of this machine,
// one of each kind.
func TestOps(t *testing.T) {
	for _, name := range devices() {
		t.Run(name, func(t *testing.T) {
			dev, err := runtime.Open(name)
			require.NoError(t, err)
			defer dev.Close()
			opstest.RunAll(t, dev)
		})
	}
}
