package prebuilt_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/jit/artifact"
	"github.com/gokiln/kiln/jit/record"
)

const module = "github.com/gokiln/kiln/"

// TestKeysThatAnEditChanges adds a function to a file of each family of kernels, and counts the
// kernels of the bundles whose keys change. These are of the family, or of one that imports it:
// families stay apart, so that an edit does not have everything compiled again. With -v it prints
// the table of docs/deployment.md.
func TestKeysThatAnEditChanges(t *testing.T) {
	var set record.Set
	for _, p := range packages {
		require.NoError(t, set.Load(filepath.Join(p.dir, "kernels.txt")))
	}
	specs := set.Specs()
	before := keys(t, specs, compiler.Registered)
	own := map[string]int{}
	for _, s := range specs {
		own[packageOf(s)]++
	}
	families, err := filepath.Glob("../ops/*/kernels")
	require.NoError(t, err)
	require.Greater(t, len(families), 5)
	table := fmt.Sprintf("| edit in | kernels of it | keys that change, of %d | of |\n|---|---|---|---|\n", len(specs))
	for _, dir := range append(families, "../ops/kernels", "../dsl/block") {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		path := module + filepath.ToSlash(strings.TrimPrefix(dir, ".."+string(filepath.Separator)))
		after := keys(t, specs, func(name string) (*input.Package, error) { return edited(name, path) })
		changed, of := 0, map[string]bool{}
		for i, s := range specs {
			if before[i] != after[i] {
				changed++
				of[family(packageOf(s))] = true
			} else {
				require.NotEqual(t, path, packageOf(s), "the key of %s is the same after an edit", s.Kernel)
			}
		}
		require.GreaterOrEqual(t, changed, own[path])
		table += fmt.Sprintf("| `%s` | %d | %d | %s |\n", family(path), own[path], changed, strings.Join(slices.Sorted(maps.Keys(of)), ", "))
	}
	t.Log("\n" + table)
}

// keys are those of the entries for the sources of kernels.
func keys(t *testing.T, specs []record.Spec, load input.Loader) (list []cache.Key) {
	t.Helper()
	var known artifact.Sources
	for _, s := range specs {
		req, err := s.Request()
		require.NoError(t, err)
		key, err := known.Key(req, artifact.Specialisation(req), load, "")
		require.NoError(t, err, s.Kernel)
		list = append(list, key)
	}
	return list
}

// edited loads a package, with a function more if it is the one at path.
func edited(name, path string) (*input.Package, error) {
	p, err := compiler.Registered(name)
	if err != nil || p == nil || name != path {
		return p, err
	}
	changed := *p
	changed.Files = slices.Clone(p.Files)
	for i, f := range changed.Files {
		if p.Compiles(f) && f.Name != "doc.go" {
			changed.Files[i].Text = append(slices.Clone(f.Text), "\nfunc added() {}\n"...)
			return &changed, nil
		}
	}
	return nil, fmt.Errorf("%s has no file to edit", path)
}

func packageOf(s record.Spec) string { return s.Kernel[:strings.LastIndex(s.Kernel, ".")] }

// family is the name of a package of kernels in the table.
func family(path string) string { return strings.TrimPrefix(path, module) }
