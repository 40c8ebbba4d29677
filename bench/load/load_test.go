package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/quantized/gguf"
)

func TestRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says how much memory a process has had at most")
	}
	var out strings.Builder
	path := filepath.Join(t.TempDir(), "model.gguf")
	args := []string{"-size", "40", "-samples", "2", "-file", path, "-json"}
	require.NoError(t, run(append(args, "-keep"), &out, &out))
	f, err := gguf.Open(path)
	require.NoError(t, err)
	require.Equal(t, 5, f.Len(), "up to 40 MB")
	require.NoError(t, f.Close())
	rows := map[string]figure.Row{}
	for line := range strings.Lines(out.String()) {
		var r figure.Row
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		rows[r.What] = r
	}
	require.Len(t, rows, 5)
	require.Contains(t, rows["gguf to the device"].Note, "0.06 GB in 5 tensors, ")
	require.Contains(t, rows["gguf to the device"].Note, " % of page-locked copies")
	require.Less(t, rows["memory of the host / largest tensor"].Median, 1.1)
	before, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, run(append(args, "-keep"), &out, &out))
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime(), "it was there")
	require.NoError(t, run(args, &out, &out))
	require.NoFileExists(t, path)
	for _, wrong := range [][]string{{"-size", "0"}, {"-samples", "0"}, {"-device", "abacus"}, {"-file", t.TempDir() + "/no/such"}} {
		require.Error(t, run(append([]string{"-size", "1"}, wrong...), &out, &out), wrong)
	}
}

func TestModel(t *testing.T) {
	list, largest := model(4e9)
	require.Equal(t, embedding.bytes(), largest)
	sum := int64(0)
	for _, w := range list {
		sum += w.bytes()
	}
	require.InEpsilon(t, 4e9, sum, 0.02)
}
