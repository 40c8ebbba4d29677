package suite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every package below ops that has kernels is a row, with tests whose names are its own, and every
// row is such a package, of which the documentation of package ops has a line.
func TestFamiliesAreAll(t *testing.T) {
	found, err := filepath.Glob("../../*/kernels")
	require.NoError(t, err)
	var folders, rows []string
	for _, dir := range found {
		folders = append(folders, filepath.Base(filepath.Dir(dir)))
	}
	doc, err := os.ReadFile("../../doc.go")
	require.NoError(t, err)
	names := map[string]string{}
	for _, f := range Families {
		rows = append(rows, f.Name)
		require.Contains(t, string(doc), "\n//\t"+f.Name+" ", "ops/doc.go")
		require.NotEmpty(t, f.Groups, "%s has no tests", f.Name)
		for _, g := range f.Groups {
			require.Empty(t, names[g.Name], "%s of %s", g.Name, f.Name)
			names[g.Name] = f.Name
		}
	}
	require.ElementsMatch(t, folders, rows, "packages below ops with kernels, and rows of Families")
}
