package front

import (
	"flag"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/front/internal/cases"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/dsl"
)

var update = flag.Bool("update", false, "rewrite golden files")

const casesPath = "github.com/gokiln/kiln/compiler/front/internal/cases"

var _ = cases.Control // registers the source

// registered loads packages that called dsl.Source.
func registered(importPath string) (*Package, error) {
	files, ok := dsl.SourceOf(importPath)
	if !ok {
		return nil, fs.ErrNotExist
	}
	names, err := fs.Glob(files, "*.go")
	if err != nil {
		return nil, err
	}
	p := &Package{Path: importPath}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, File{path.Base(name), text})
	}
	return p, nil
}

// goldens lists the instances whose IR is kept; none for kernels that are not
// generic.
var goldens = map[string][]string{
	"SwiGLU": {"float32", "float64", "dsl.F16"},
	"Ints":   {"int32", "uint8"},
	"Floats": {"float32"},
}

// TestGolden compares the IR of every kernel of package cases with its golden
// file. The functions of package dsl, which change on their own, are left out.
func TestGolden(t *testing.T) {
	p, err := registered(casesPath)
	require.NoError(t, err)
	for _, name := range Kernels(p) {
		insts := goldens[name]
		if insts == nil {
			insts = []string{""}
		}
		for _, arg := range insts {
			req := Request{Pkg: casesPath, Func: name}
			file := "testdata/golden/" + name
			if arg != "" {
				req.TypeArgs = []string{arg}
				file += "_" + strings.TrimPrefix(arg, "dsl.")
			}
			t.Run(path.Base(file), func(t *testing.T) { golden(t, req, file+".ir") })
		}
	}
}

func golden(t *testing.T, req Request, file string) {
	m, err := Build(req, registered)
	require.NoError(t, err)
	require.NoError(t, ir.Verify(m), m.String())
	back, err := ir.Parse(m.String())
	require.NoError(t, err)
	require.Equal(t, m.Text(), back.Text())

	own := m.Funcs[:0:0]
	for _, f := range m.Funcs {
		if !strings.HasPrefix(f.Name, "dsl.") {
			own = append(own, f)
		}
	}
	m.Funcs = own
	text := m.Text()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "run go test ./compiler/front -update")
}

func TestCheckCases(t *testing.T) {
	p, err := registered(casesPath)
	require.NoError(t, err)
	require.Empty(t, Check(p, registered, nil))
}
