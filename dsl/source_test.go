package dsl_test

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
)

//go:embed source.go
var some embed.FS

//go:embed types.go source.go
var more embed.FS

const ownPath = "github.com/gokiln/kiln/dsl_test"

// Both registrations come before any test, as in a real package.
var (
	tag     = dsl.Source(some)
	tagMore = dsl.Source(more)
)

func TestSourceRegistersTheCaller(t *testing.T) {
	assert.Equal(t, ownPath, tag.Path())
	assert.Equal(t, ownPath, tagMore.Path())
	assert.Contains(t, dsl.Sources(), ownPath)
	files, ok := dsl.SourceOf(ownPath)
	require.True(t, ok)
	require.NoError(t, fstest.TestFS(files, "source.go", "types.go"))
	text, err := fs.ReadFile(files, "types.go")
	require.NoError(t, err)
	assert.Contains(t, string(text), "type Word interface")
	_, err = files.Open("none.go")
	assert.True(t, errors.Is(err, fs.ErrNotExist))
	_, err = fs.ReadDir(files, "none")
	assert.True(t, errors.Is(err, fs.ErrNotExist))
	_, ok = dsl.SourceOf("example.com/unknown")
	assert.False(t, ok)
}

// The compiler reads what is embedded, so all of the package must be, and
// nothing else.
func TestAPIHoldsAllSources(t *testing.T) {
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	var want []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			want = append(want, e.Name())
		}
	}
	own, ok := dsl.SourceOf("github.com/gokiln/kiln/dsl")
	require.True(t, ok)
	assert.Equal(t, dsl.API(), own)
	got, err := fs.Glob(own, "*")
	require.NoError(t, err)
	assert.Equal(t, want, got)
}
