package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
)

// Every element type has its slice, and is in the sets that its row says.
func TestElementTypes(t *testing.T) {
	for d := dtype.Invalid; d < 31; d++ {
		require.Equal(t, d.Computes(), Numbers.Has(d), d)
		require.Equal(t, d.IsFloat(), Floats.Has(d), d)
		require.Equal(t, d.IsInt(), Ints.Has(d), d)
		require.Equal(t, d.Computes(), sliceOf[d] != nil, d)
	}
}
