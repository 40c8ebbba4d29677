package dim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/dim"
	"github.com/gokiln/kiln/runtime"
)

// The size of a grid for plain Go is that for a device.
func TestOneType(t *testing.T) {
	g := runtime.Grid{Blocks: dsl.D2(40, 8), Threads: dsl.D1(32)}
	require.Equal(t, runtime.Dim3{X: 40, Y: 8, Z: 1}, g.Blocks)
	require.Equal(t, 320, g.Blocks.Count())
	require.Equal(t, [3]int{7, 1, 1}, dim.Array(dsl.Dim3{X: 7}))
	require.Zero(t, dsl.Dim3{}.Count())
}
