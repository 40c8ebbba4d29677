package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two epochs that are stopped in between are two epochs.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	o := options{device: "cpu", epochs: 2, seed: 1, picture: filepath.Join(dir, "loss.png")}
	var out strings.Builder
	whole, err := run(t.Context(), &out, o)
	require.NoError(t, err)
	require.Greater(t, whole.accuracy, 0.85)
	require.Greater(t, whole.losses[0], 2.0)
	require.Less(t, whole.losses[len(whole.losses)-1], 0.8)
	require.FileExists(t, o.picture)

	o.checkpoint = filepath.Join(dir, "run.safetensors")
	first := o
	first.epochs = 1
	a, err := run(t.Context(), &out, first)
	require.NoError(t, err)
	b, err := run(t.Context(), &out, o)
	require.NoError(t, err)
	require.Equal(t, whole.losses, append(a.losses, b.losses...))
	require.Equal(t, whole.accuracy, b.accuracy)
	require.Contains(t, out.String(), "goes on after step")
}
