package compiler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
)

// Every target has an answer for each feature: yes, or an ErrUnsupported with a reason.
func TestSupports(t *testing.T) {
	lacking := map[string][]compiler.Feature{}
	for _, tgt := range target.All() {
		for _, f := range compiler.Features() {
			err := compiler.Supports(tgt, f)
			if err == nil {
				continue
			}
			require.ErrorIs(t, err, compiler.ErrUnsupported, "%s %s", tgt, f)
			require.ErrorContains(t, err, string(f)+" is not available on "+tgt.String()+": ")
			lacking[tgt.Kind] = append(lacking[tgt.Kind], f)
		}
	}
	for _, kind := range []string{target.Interp, target.PTX, target.CUDA, target.HIP, target.LLVM} {
		require.Empty(t, lacking[kind], kind)
	}
	require.Contains(t, lacking[target.MSL], compiler.Float64)
	require.Contains(t, lacking[target.MSL], compiler.Atomics64)
	require.NotContains(t, lacking[target.MSL], compiler.BFloat16)
	require.Contains(t, lacking[target.OpenCL], compiler.WarpOperations)

	metal, err := target.Parse("msl:3.0")
	require.NoError(t, err)
	require.EqualError(t, compiler.Supports(metal, compiler.Float64), "float64 is not available on msl:3.0: Metal has no 64-bit floats; use float32")
	require.ErrorContains(t, compiler.Supports(metal, "teleport"), `feature "teleport": unknown`)
}
