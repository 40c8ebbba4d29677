package models

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFilesNamed requires that the package's documentation says of each file what it is for.
func TestFilesNamed(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(doc), "# Files")
	require.True(t, found)
	names := strings.Fields(table)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, f := range files {
		name := strings.TrimSuffix(f, ".go")
		if strings.HasSuffix(name, "_test") || name == "doc" || strings.HasPrefix(name, "rows_") {
			continue
		}
		require.Contains(t, names, name, "doc.go does not say what %s is for", f)
	}
}
