package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// RunUnset checks that shared memory which nothing was written to holds bytes 0xFF in every
// block on the CPU, as in plain Go. GPUs leave anything there.
func RunUnset(t *testing.T, dev *runtime.Device) {
	const blocks, n = 5, 1001
	require.NoError(t, Check(dev, Case{Name: "Unset", Kernel: kernels.Unset, Grid: dsl.D1(blocks), Threads: dsl.D1(64),
		Args: []any{make([]uint32, blocks*n), make([]uint8, blocks*3)}}))
	require.NoError(t, Check(dev, Case{Name: "UnsetByte", Kernel: kernels.UnsetByte, Grid: dsl.D1(blocks), Threads: dsl.D1(32),
		Args: []any{make([]uint8, blocks*2)}}))
}
