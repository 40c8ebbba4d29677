package tensor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Only the CPU is not named in what is printed.
func TestSuffix(t *testing.T) {
	for name, want := range map[string]string{
		"cpu": "", "cpu:interp": "", "cuda:0": ", cuda:0", "rocm:1": ", rocm:1", "metal:0": ", metal:0",
	} {
		require.Equal(t, want, suffix(name))
	}
}
