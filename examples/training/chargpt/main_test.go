package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A few steps learn something, and the same seed gives the same numbers and the same text.
func TestRun(t *testing.T) {
	o := options{device: "cpu", text: "../../../LICENSE", steps: 24, sample: 20, seed: 3, picture: filepath.Join(t.TempDir(), "loss.png")}
	var out, again strings.Builder
	losses, err := run(t.Context(), &out, o)
	require.NoError(t, err)
	require.Len(t, losses, o.steps)
	require.InDelta(t, 4.3, losses[0], 0.3, "nearly log of the vocabulary")
	require.Less(t, losses[len(losses)-1], 3.4)
	require.FileExists(t, o.picture)

	same, err := run(t.Context(), &again, o)
	require.NoError(t, err)
	require.Equal(t, losses, same)
	require.Equal(t, tail(out.String()), tail(again.String()))
	require.Contains(t, out.String(), "step   24 of 24")
	o.text = "none"
	_, err = run(t.Context(), &out, o)
	require.Error(t, err)
}

// tail is what was written behind the line of the last step, which has a time.
func tail(s string) string {
	_, after, _ := strings.Cut(s, " s\n")
	return after
}
