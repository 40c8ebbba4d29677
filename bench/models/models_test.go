package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRun measures small shapes, as they are and in blocks, one sequence and several, and in pages.
func TestRun(t *testing.T) {
	for _, more := range []string{"", "-quantize Q4_0", "-paged", "-eager"} {
		var out strings.Builder
		args := append(strings.Fields("-prompt 8 -tokens 2 -batch 1,2"), strings.Fields(more)...)
		require.NoError(t, run(args, &out, io.Discard), more)
		require.Equal(t, 2, strings.Count(out.String(), "decode"), "%s: %s", more, out.String())
	}
	for args, want := range map[string]string{
		"-model none":     "-model none: there are no such shapes",
		"-batch 0":        "-batch 0: want numbers of sequences",
		"-dtype f99":      "f99",
		"-quantize Q99_K": "Q99_K",
		"-device gpu:9":   "gpu:9",
	} {
		err := run(strings.Fields(args), io.Discard, io.Discard)
		require.ErrorContains(t, err, want, args)
	}
}
