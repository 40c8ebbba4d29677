package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFigures draws all charts again and compares.
func TestFigures(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for _, c := range charts {
		want, err := c.draw(results)
		require.NoError(t, err, c.file)
		got, err := os.ReadFile(filepath.Join(results, c.file))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s: run go run . in bench/plot", c.file)
		require.Contains(t, string(readme), "results/"+c.file)
		require.Contains(t, string(readme), "results/"+c.table)
	}
	files, err := filepath.Glob(filepath.Join(results, "*.svg"))
	require.NoError(t, err)
	require.Len(t, files, len(charts), "a figure that nothing draws")
}

func TestWrongTables(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nx\n":    "has 1 cells, the head has 2",
		"a\tb\nx\ty\n": "invalid syntax",
		"a\tc\nx\t1\n": `no column "b"`,
	} {
		path := filepath.Join(t.TempDir(), "t.tsv")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		table, err := readTable(path)
		if err == nil {
			_, err = table.column("b")
		}
		require.ErrorContains(t, err, want)
	}
	_, err := readTable("none.tsv")
	require.Error(t, err)
}
