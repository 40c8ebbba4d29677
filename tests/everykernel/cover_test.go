package everykernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
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
	for p := range some {
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

// Shares together have every program once, and each of them what is chosen for all.
func TestShares(t *testing.T) {
	var all []*compiler.Program
	for range 20 {
		all = append(all, &compiler.Program{})
	}
	always := map[*compiler.Program]bool{all[3]: true, all[11]: true}
	const n = 3
	of := map[*compiler.Program]int{}
	for i := range n {
		for _, p := range shareOf(all, i, n, func(p *compiler.Program) bool { return always[p] }) {
			of[p]++
		}
	}
	for k, p := range all {
		want := 1
		if always[p] {
			want = n
		}
		assert.Equal(t, want, of[p], k)
	}
}

// Of a family there are as many instances of each kernel as are asked for, and all of other
// kernels.
func TestThin(t *testing.T) {
	var all []*compiler.Program
	for _, name := range []string{"ops/a.K", "ops/a.L", "nn/b.K", "examples/c.K"} {
		for _, of := range []string{"[int8]", "[int16]", "{v:1}", "[int32]{v:1}", "[int64]"} {
			all = append(all, &compiler.Program{Kernel: module + "/" + name + of})
		}
	}
	for _, most := range []int{1, 3} {
		some := thin(all, most)
		found := map[string]int{}
		for _, p := range some {
			found[base(p.Kernel)]++
		}
		want := map[string]int{"/ops/a.K": most, "/ops/a.L": most, "/nn/b.K": most, "/examples/c.K": 5}
		for name, n := range want {
			assert.Equal(t, n, found[module+name], name)
		}
		assert.Equal(t, all[15:], some[:5])
	}
}
