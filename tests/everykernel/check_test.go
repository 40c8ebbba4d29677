package everykernel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
)

// No instance of the kernels of conformance, which have every operation, is reported as a mistake.
// What kiln check does beyond that, the passes over each instance, tests/e2e has in its sweep.
func TestNoFalseDiagnostics(t *testing.T) {
	load := loader(findRoot(t))
	p, err := load(module + "/tests/conformance/kernels")
	require.NoError(t, err)
	instances := 0
	require.Empty(t, front.Check(p, load, func(*ir.Module) diag.List {
		instances++
		return nil
	}))
	require.Greater(t, instances, len(front.Kernels(p)))
}
