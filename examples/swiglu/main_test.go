package main

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, "cpu", 1037))
	for _, name := range []string{"float32", "F16", "BF16"} {
		require.Contains(t, out.String(), "\n"+name)
	}
}

func TestRunUnknownDevice(t *testing.T) {
	require.Error(t, run(&strings.Builder{}, "abacus", 1))
}

func TestExcess(t *testing.T) {
	b := bound{u: 0x1p-11, times: 1, floor: 0x1p-25}
	require.Zero(t, b.excess(1, 1))
	require.InDelta(t, 1, b.excess(1+0x1p-11, 1), 1e-12)
	require.InDelta(t, 2, b.excess(1+0x1p-10, 1), 1e-12)
	require.InDelta(t, 0.5, b.excess(0x1p-26, 0), 1e-12, "floor")
	require.True(t, math.IsNaN(b.excess(math.NaN(), 1)))
}
