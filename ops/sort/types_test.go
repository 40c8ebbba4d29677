package sort

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
)

// Every element type has a key to be sorted by, which has the bits of what it is computed in.
func TestElementTypes(t *testing.T) {
	for _, d := range dtype.All() {
		k := sortKeys[d]
		require.NotNil(t, k.fn, d)
		require.LessOrEqual(t, d.Bits(), k.end-k.from, d)
		require.Equal(t, d.IsInt(), k.bare, d)
	}
}
