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
	out.Reset()
	require.NoError(t, run([]string{"-samples", "1", "-warm", "1ns", "-processor", "-group", "quantized", "-only", "(^quantize.* to|linear 1x2048.* and|linear 128.* and) MXFP4$"}, &out, &out))
	for _, line := range []string{
		`quantized linear 1x2048x4096 f32 and MXFP4 .* GB/s +\d+ % of the copy`,
		`quantize f32 to MXFP4 .* Gelem/s`,
		`quantized linear 128x2048x4096 f32 and MXFP4 .* TFLOP/s +\d+ % of dense linear 128x2048x4096 f32`,
	} {
		require.Regexp(t, line, out.String())
	}
	require.Equal(t, 5, strings.Count(out.String(), "\n"), "these, the copy and the dense product: "+out.String())
	require.ErrorContains(t, run([]string{"-group", "abacus"}, &out, &out), "there are elementwise, ")
	require.True(t, (&config{group: "-rows"}).takes("matmul"))
	require.False(t, (&config{group: "-rows"}).takes("rows"))
	require.Error(t, run([]string{"-product", "bf16:16"}, &out, &out))
	require.Error(t, run([]string{"-product", "x:1x1x1"}, &out, &out))
	require.Error(t, run([]string{"-product", "f32-low:1x1x1"}, &out, &out))
	require.Error(t, run([]string{"-only", "("}, &out, &out))
	require.Error(t, run([]string{"-device", "abacus"}, &out, &out))
}
