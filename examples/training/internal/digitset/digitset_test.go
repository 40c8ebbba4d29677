package digitset

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoad(t *testing.T) {
	images, err := Load()
	require.NoError(t, err)
	require.Len(t, images, 1797)
	count := map[uint32]int{}
	for _, image := range images {
		require.Len(t, image.X, Pixels)
		count[image.Label]++
		for _, x := range image.X {
			require.True(t, x >= 0 && x <= 1)
		}
	}
	require.Len(t, count, 10)
	require.Equal(t, 178, count[0])
}
