package docs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFigures draws the pictures of docs/ again and compares.
func TestFigures(t *testing.T) {
	figures, err := Figures()
	require.NoError(t, err)
	page, err := os.ReadFile(root + "/docs/tensors.md")
	require.NoError(t, err)
	for name, want := range figures {
		path := filepath.Join(root, "docs", "figures", name)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(want), 0o666))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "run go test ./tests/docs -update")
		assert.Contains(t, string(page), "figures/"+name)
	}
	files, err := filepath.Glob(root + "/docs/figures/*")
	require.NoError(t, err)
	assert.Len(t, files, len(figures), "a picture that nothing draws")
}
