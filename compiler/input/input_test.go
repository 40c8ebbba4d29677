package input

import (
	"errors"
	"fmt"
	"go/types"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// packages loads packages of one file each.
func packages(texts map[string]string) Loader {
	return func(path string) (*Package, error) {
		text, ok := texts[path]
		if !ok {
			return nil, fmt.Errorf("package %s has no kernel source", path)
		}
		return &Package{Path: path, Files: []File{{Name: path + ".go", Text: []byte(text)}}}, nil
	}
}

func TestSourceHash(t *testing.T) {
	texts := map[string]string{
		"a": "package a\n\nimport (\n\t\"b\"\n\t\"fmt\"\n\n\t\"github.com/gokiln/kiln/dsl\"\n)\n",
		"b": "package b\n\nimport \"c\"\n",
		"c": "package c\n",
		"d": "package d\n",
	}
	hash := func() [32]byte {
		sum, err := SourceHash("a", packages(texts))
		require.NoError(t, err)
		return sum
	}
	first := hash()
	require.Equal(t, first, hash())
	texts["d"] += "var x int // not imported\n"
	require.Equal(t, first, hash())
	texts["c"] = "package c // the comment of an import\n"
	require.Equal(t, first, hash())
	texts["c"] += "var x int\n"
	require.NotEqual(t, first, hash())

	_, err := SourceHash("x", packages(texts))
	require.EqualError(t, err, "package x has no kernel source")
	texts["b"] = "pack"
	_, err = SourceHash("a", packages(texts))
	require.ErrorContains(t, err, "hashing source of b: ")
}

// TestSourceHashIgnoresPlace checks that neither directories nor the order of
// files nor tests count.
func TestSourceHashIgnoresPlace(t *testing.T) {
	files := []File{{Name: "a.go", Text: []byte("package k\n")}, {Name: "b.go", Text: []byte("package k\n\nvar x int\n")}}
	hash := func(dir string, files ...File) [32]byte {
		sum, err := SourceHash("k", func(path string) (*Package, error) {
			if path != "k" {
				return nil, errors.New("absent")
			}
			return &Package{Path: "k", DisplayDir: dir, Files: files}, nil
		})
		require.NoError(t, err)
		return sum
	}
	require.Equal(t, hash("", files...), hash("/somewhere", files[1], files[0], File{Name: "a_test.go"}))
	require.NotEqual(t, hash("", files...), hash("", files[0]))
}

// The list is written down because the package that has it is large.
func TestPredeclared(t *testing.T) {
	var want []string
	for _, name := range types.Universe.Names() {
		if _, ok := types.Universe.Lookup(name).(*types.TypeName); ok {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	assert.Equal(t, want, predeclaredTypes)
}

func TestFindLiteral(t *testing.T) {
	p := &Package{Path: "k", Files: []File{
		{Name: "k.go", Text: []byte("package k\n\nvar a, b = func(x byte) {}, func(x T) {}\n\nfunc (t *S[T]) m() {\n\tf, g := func() {}, h[T]\n}\n\nfunc (t *P) m() {\n\tf, g := func() {}, h[T]\n}\n")},
		{Name: "tagged.go", Text: []byte("//go:build linux\n\npackage k\n")},
		{Name: "broken.go", Text: []byte("package")},
	}}
	got, err := FindLiteral(p, Literal{File: "k.go", Line: 3, Params: []string{"uint8"}})
	require.ErrorContains(t, err, "2 function literals of the same type begin on this line")
	assert.Zero(t, got)
	got, err = FindLiteral(p, Literal{File: "k.go", Line: 3, Params: []string{"int32"}}) // what T is, for all that is known
	require.NoError(t, err)
	assert.Equal(t, Func{Pkg: "k", File: "k.go", Line: 3, Col: 29}, got)
	got, err = FindLiteral(p, Literal{File: "k.go", Line: 10})
	require.NoError(t, err)
	assert.Equal(t, "k/k.go:10:10", got.String())
	named := &Package{Path: "k", Files: []File{
		{Name: "types.go", Text: []byte("package k\n\ntype D = E\ntype E = float64\ntype Own float32\ntype Round = Round\n")},
		{Name: "k.go", Text: []byte("package k\n\nvar a, b, c = func(x D) {}, func(x Own) {}, func(x float32) {}\nvar d, e = func(x E) {}, func(x D) {}\nvar f, g = func(x Round) {}, func(x E) {}\n")},
	}}
	for name, col := range map[string]int{"float64": 15, "float32": 45, "": 0} { // the last is a type that has no name here
		got, err = FindLiteral(named, Literal{File: "k.go", Line: 3, Params: []string{name}})
		assert.Equal(t, col, got.Col, name)
		assert.Equal(t, col == 0, err != nil, name)
	}
	_, err = FindLiteral(named, Literal{File: "k.go", Line: 4, Params: []string{"float64"}})
	require.ErrorContains(t, err, "2 function literals of the same type begin on this line")
	_, err = FindLiteral(named, Literal{File: "k.go", Line: 5, Params: []string{"float64"}})
	require.Error(t, err)
	for want, l := range map[string]Literal{
		"no function literal of this type":            {File: "k.go", Line: 4},
		"an instance of a generic function stands on": {File: "k.go", Line: 6},
		"not among the source files":                  {File: "other.go"},
		"has a build constraint":                      {File: "tagged.go"},
		"reading source of k":                         {File: "broken.go"},
	} {
		_, err := FindLiteral(p, l)
		assert.ErrorContains(t, err, want)
	}
}
