package fn_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/fn"
)

// Frequencies are those of transformers.
func TestRopeFrequencies(t *testing.T) {
	text, err := os.ReadFile("testdata/rope.json")
	require.NoError(t, err)
	var list []struct {
		Name           string
		Dim, Positions int
		Base, Factor   float64
		Scaling        fn.RopeScaling
		Freqs          []float64
	}
	require.NoError(t, json.Unmarshal(text, &list))
	require.Greater(t, len(list), 10)
	for _, c := range list {
		freqs, factor, err := c.Scaling.Frequencies(c.Dim, c.Positions, c.Base)
		require.NoError(t, err, c.Name)
		require.InDelta(t, c.Factor, factor, 1e-12, c.Name)
		require.Len(t, freqs, len(c.Freqs))
		for i, f := range c.Freqs {
			require.InEpsilon(t, f, freqs[i], 2e-6, "%s: %d of %v", c.Name, i, freqs) // they are float32 there
		}
	}
}
