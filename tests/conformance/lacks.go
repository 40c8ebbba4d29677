package conformance

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/runtime"
)

// Without has, for each target that lacks something, the features that it lacks. Cases of these are
// skipped there. What is not in the table has to work: a feature that a target loses by mistake
// fails [CheckFeatures], and the cases with it.
var Without = map[string][]compiler.Feature{
	"msl:2.4":    {compiler.Float64, compiler.Atomics64, compiler.AtomicsOrdered, compiler.Fences},
	"msl:3.0":    {compiler.Float64, compiler.Atomics64, compiler.AtomicsOrdered, compiler.Fences},
	"msl:3.1":    {compiler.Float64, compiler.Atomics64, compiler.AtomicsOrdered, compiler.Fences},
	"msl:3.2":    {compiler.Float64, compiler.Atomics64},
	"opencl:1.2": {compiler.WarpOperations},
}

// withoutGrid are the kinds of targets without barriers of the grid.
var withoutGrid = []string{target.MSL, target.OpenCL}

// CheckFeatures compares what the compiler says of a target with the tables.
func CheckFeatures(t *testing.T, tgt target.Target) {
	t.Helper()
	for _, f := range compiler.Features() {
		err := compiler.Supports(tgt, f)
		if slices.Contains(Without[tgt.String()], f) {
			require.ErrorIs(t, err, compiler.ErrUnsupported, "%s has %s now; take it out of the table", tgt, f)
		} else {
			require.NoError(t, err, "the table says that %s has %s", tgt, f)
		}
	}
	require.Equal(t, slices.Contains(withoutGrid, tgt.Kind), tgt.GridBarriers() != nil, "barriers of the grid on %s", tgt)
}

// targetOf is what kernels for a device are compiled for.
func targetOf(t *testing.T, dev *runtime.Device) target.Target {
	t.Helper()
	info := dev.Info()
	tgt, err := compiler.TargetFor(info.Formats, info.Arch)
	require.NoError(t, err)
	return tgt
}

// judge fails the test for an error, unless that is the reason of a feature which the table says
// the device is without.
func judge(t *testing.T, dev *runtime.Device, err error) {
	t.Helper()
	if why := (*target.Unsupported)(nil); errors.As(err, &why) {
		tgt := targetOf(t, dev)
		for _, f := range Without[tgt.String()] {
			if lack := (*target.Unsupported)(nil); errors.As(compiler.Supports(tgt, f), &lack) && lack.Why == why.Why {
				t.Skipf("%s is without %s: %v", tgt, f, err)
			}
		}
	}
	if err != nil {
		t.Error(err)
	}
}
