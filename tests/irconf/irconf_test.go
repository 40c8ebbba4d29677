package irconf

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

func TestCasesAreSound(t *testing.T) {
	names := map[string]bool{}
	cases := Cases()
	require.Greater(t, len(cases), 500)
	for _, c := range cases {
		require.False(t, names[c.Name], "%s listed twice", c.Name)
		names[c.Name] = true
		m, err := ir.Parse(c.Text)
		require.NoError(t, err, c.Name)
		require.NoError(t, ir.Verify(m), c.Name)
		require.NotNil(t, m.Kernel(), c.Name)
		require.Len(t, c.Args, len(m.Kernel().Args), c.Name)
		require.Len(t, c.Types, len(c.Bufs), c.Name)
		require.Len(t, c.Want, len(c.Bufs), c.Name)
		if c.Warp {
			require.Zero(t, c.Block[0]*c.Block[1]*c.Block[2]%32, c.Name)
		}
		changed := false
		for i := range c.Bufs {
			require.Len(t, c.Want[i], len(c.Bufs[i]), c.Name)
			require.Zero(t, len(c.Bufs[i])%c.Types[i].Size(), c.Name)
			changed = changed || string(c.Bufs[i]) != string(c.Want[i])
		}
		require.True(t, changed, "%s would pass if nothing ran", c.Name)
		require.NoError(t, c.Check(c.Want))
		require.Error(t, c.Check(c.Bufs))
	}
}
