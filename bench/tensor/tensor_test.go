package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/bench/figure"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run([]string{"-samples", "1", "-warm", "1ns", "-only", "^(where|cast) bf16$", "-json"}, &out, &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	var r figure.Row
	require.NoError(t, json.Unmarshal([]byte(lines[2]), &r))
	require.Equal(t, "cast bf16", r.What)
	require.Contains(t, r.Note, "% of the copy")
	require.NoError(t, run([]string{"-samples", "1", "-warm", "1ns", "-product", "bf16:16x64x64t", "-only", "in (packed|matrix tiles of 16)"}, &out, &out))
	require.Contains(t, out.String(), "bf16:16x64x64t in matrix tiles of 16x64")
	require.Error(t, run([]string{"-product", "bf16:16"}, &out, &out))
	require.Error(t, run([]string{"-product", "x:1x1x1"}, &out, &out))
	require.Error(t, run([]string{"-product", "f32-low:1x1x1"}, &out, &out))
	require.Error(t, run([]string{"-only", "("}, &out, &out))
	require.Error(t, run([]string{"-device", "abacus"}, &out, &out))
}
