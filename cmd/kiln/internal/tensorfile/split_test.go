package tensorfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cmd/kiln/internal/tensorfile"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/gguf"
)

// A folder with the files of one model is that model; with those of two it is not clear which.
func TestFolderOfParts(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(t.TempDir(), "in.gguf")
	require.NoError(t, gguf.WriteFile(in, nil, floats(t, "a", layout.Shape{2}, 1, 2),
		floats(t, "b", layout.Shape{1}, 3), q8(t, "c")))
	m := open(t, in)
	for _, n := range []int{1, 3} { // tensors of a file
		parts, err := tensorfile.Split(filepath.Join(dir, "m"), m, gguf.Split{MaxTensors: n})
		require.NoError(t, err)
		var wrote []int64
		paths, err := tensorfile.WriteParts(parts, func(n int64) { wrote = append(wrote, n) })
		require.NoError(t, err)
		var size int64
		for _, p := range paths {
			info, err := os.Stat(p)
			require.NoError(t, err)
			size += info.Size()
		}
		require.Equal(t, size, wrote[len(wrote)-1], "bytes of all files")
		got := open(t, dir)
		require.Equal(t, paths, got.Files())

		merged := filepath.Join(t.TempDir(), "merged.gguf")
		require.NoError(t, tensorfile.Merge(merged, got, nil))
		want, err := os.ReadFile(in)
		require.NoError(t, err)
		have, err := os.ReadFile(merged)
		require.NoError(t, err)
		require.Equal(t, want, have)
		require.ErrorContains(t, tensorfile.Merge(merged, got, nil), "is there already")
		if n == 1 {
			require.NoError(t, os.Rename(paths[1], filepath.Join(dir, "n-00002-of-00003.gguf")))
			_, err = tensorfile.Open(dir, "")
			require.ErrorContains(t, err, "more or less than one model")
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.Mkdir(dir, 0o700))
		}
	}
}
