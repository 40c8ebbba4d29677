package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGenerated(t *testing.T) {
	text, err := os.ReadFile("../testdata/iq_grids.json")
	require.NoError(t, err)
	want, err := generate(text)
	require.NoError(t, err)
	got, err := os.ReadFile("../zz_grids.go")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run go generate ./quantized/format")
}

func TestMistakes(t *testing.T) {
	for _, text := range []string{"", "{}", `{"IQ1_S": [[0, 1, 2, 3, 4]]}`, `{"IQ1_S": [[0, 0, 0, 0, 0, 0, 0, 0, 0]]}`} {
		_, err := generate([]byte(text))
		require.Error(t, err, "%s", text)
	}
}
