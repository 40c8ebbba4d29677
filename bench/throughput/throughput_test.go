package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
)

// Every specialisation is a kernel of its own: none is a name for the code of
// another that the caches could share.
func TestRequests(t *testing.T) {
	list := requests()
	require.Len(t, list, 1000)
	step := 1
	if testing.Short() {
		step = 37
	}
	hashes := map[string]string{}
	for i := 0; i < len(list); i += step {
		p, err := compiler.Front(list[i], compiler.Registered)
		require.NoError(t, err)
		require.Empty(t, hashes[p.Hash], p.Kernel)
		hashes[p.Hash] = p.Kernel
	}
}

func TestMeasure(t *testing.T) {
	tgt, err := target.Parse("ptx:sm_90")
	require.NoError(t, err)
	n := 0
	s, err := round(requests()[:3], 1, func(req front.Request) error {
		n++
		return compile(req, tgt, "ptx")
	})
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, 3, s.kernels)
	require.Positive(t, s.wall)
	require.Positive(t, s.bytes)
	require.Contains(t, s.String(), "3 kernels on 1 processors: ")
}
