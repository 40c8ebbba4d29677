package docs

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExcerpts keeps the functions that docs/products.md shows those of the example.
func TestExcerpts(t *testing.T) {
	const page = root + "/docs/products.md"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	want, n, err := Excerpts(root, string(text))
	require.NoError(t, err)
	require.Greater(t, n, 5)
	blocks, err := Blocks(page)
	require.NoError(t, err)
	for _, b := range blocks {
		if b.Lang == "go" {
			n--
		}
	}
	require.Zero(t, n, "blocks of Go that are no excerpts")
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o666))
	} else {
		require.Equal(t, want, string(text), "run go test ./tests/docs -update")
	}
	_, _, err = Excerpts(root, "<!-- examples/gemm/main.go: Nothing -->\n```go\n```\n")
	require.ErrorContains(t, err, "has no function Nothing")
}
