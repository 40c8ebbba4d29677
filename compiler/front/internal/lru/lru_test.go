package lru

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoesByUse(t *testing.T) {
	var gone []string
	k := Cache[string, string]{Most: 10, Drop: func(v string) { gone = append(gone, v) }}
	k.Put("a", "a", 4)
	k.Put("b", "b", 4)
	_, ok := k.Get("a")
	require.True(t, ok)
	k.Put("c", "c", 4)
	require.Equal(t, []string{"b"}, gone)
	k.Put("a", "a", 1) // it has become smaller
	require.Equal(t, 5, k.Bytes())
	k.Put("d", "d", 100)
	require.Len(t, k.all, 1, "the latest stays")
	require.Equal(t, 100, k.Bytes())
	k.Clear()
	require.Zero(t, k.Bytes())
	_, ok = k.Get("d")
	require.False(t, ok)
}
