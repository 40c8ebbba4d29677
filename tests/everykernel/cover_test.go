package everykernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/tooltest"
)

// What the kernels have that are chosen by default is all that any kernel has.
func TestCoverHasEveryFeature(t *testing.T) {
	tooltest.Sweep(t, "the emitters' tests, which use the choice")
	all := Programs(t)
	some := cover(t, all)
	t.Logf("%d of %d", len(some), len(all))
	require.Less(t, len(some), len(all)/2)
	have := map[string]bool{}
	for _, p := range some {
		m, err := ir.Parse(p.Text)
		require.NoError(t, err)
		for f := range features(m) {
			have[f] = true
		}
	}
	for _, p := range all {
		m, err := ir.Parse(p.Text)
		require.NoError(t, err)
		for f := range features(m) {
			assert.True(t, have[f], "%s has %s, and no kernel that is chosen has it", p.Kernel, f)
		}
	}
}
