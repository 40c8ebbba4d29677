package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Fine-tuned adapters read mirrored digits, and so do adapters that were saved, loaded and merged.
func TestRun(t *testing.T) {
	o := options{device: "cpu", epochs: 2, adapt: 6, seed: 1, picture: filepath.Join(t.TempDir(), "loss.png")}
	var out strings.Builder
	r, err := run(t.Context(), &out, o)
	require.NoError(t, err)
	require.Greater(t, r.plain, 0.85)
	require.Greater(t, r.adapted, r.mirrored+0.1, out.String())
	require.InDelta(t, r.adapted, r.merged, 0.01)
	require.Less(t, r.losses[len(r.losses)-1], r.losses[0])
	require.FileExists(t, o.picture)
}
