package curve

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loss.png")
	require.NoError(t, Write(path, "test", []float64{3, 2, 1.5, 1.25}))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	require.Greater(t, img.Bounds().Dx(), 300)
	require.Error(t, Write(filepath.Join(t.TempDir(), "no", "loss.png"), "test", []float64{1}))
	require.InDeltaSlice(t, []float64{2, 2, 2}, smooth([]float64{2, 2, 2}), 1e-12)
}
