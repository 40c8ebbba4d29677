package front

import (
	"flag"
	"fmt"
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
		p.Files = append(p.Files, File{Name: path.Base(name), Text: text})
	}
	return p, nil
}

// goldens lists the instances whose IR is kept; none for kernels that are not
// generic.
var goldens = map[string][]string{
	"SwiGLU":    {"float32", "float64", "dsl.F16"},
	"Ints":      {"int32", "uint8"},
	"Floats":    {"float32"},
	"Functions": {"float32"},
	"Log":       {"float32"},
	"ByValue":   {"float64"},
}

// TestGolden compares the IR of every kernel of package cases with its golden
// file. Positions and the functions of package dsl, which change on their own,
// are left out.
func TestGolden(t *testing.T) {
	p, err := registered(casesPath)
	require.NoError(t, err)
	for _, name := range Kernels(p) {
		insts := goldens[name]
		if insts == nil {
			insts = []string{""}
		}
		for _, arg := range insts {
			req := Request{Pkg: casesPath, Func: name, Fill: FillLarge}
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
	m.Renumber()
	require.Equal(t, ids(back), ids(m), "IDs after Renumber are those after Parse")

	var b strings.Builder
	fmt.Fprintf(&b, "module %q\n", m.Name)
	for i, o := range m.Shared {
		fmt.Fprintf(&b, "shared %d %q %s\n", i, o.Name, o.Type)
	}
	for i, s := range m.Texts {
		fmt.Fprintf(&b, "text %d %q\n", i, s)
	}
	for _, f := range m.Funcs {
		if !strings.HasPrefix(f.Name, "dsl.") {
			b.WriteString("\n" + f.String())
		}
	}
	text := b.String()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "run go test ./compiler/front -update")
}

// ids lists the IDs of values and blocks in the order of the text.
func ids(m *ir.Module) (list []int) {
	add := func(vs []*ir.Value) {
		for _, v := range vs {
			list = append(list, v.ID)
		}
	}
	for _, f := range m.Funcs {
		add(f.Params)
		for _, b := range f.Blocks {
			list = append(list, b.ID)
			add(b.Params)
			add(b.Instrs)
			add(b.Term.Args)
			for _, e := range b.Term.Succs {
				list = append(list, e.To.ID)
				add(e.Args)
			}
		}
		list = append(list, f.NumValues(), f.NumBlocks())
	}
	return list
}

func TestCheckCases(t *testing.T) {
	p, err := registered(casesPath)
	require.NoError(t, err)
	require.Empty(t, Check(p, registered, nil))
}

// TestPositions checks that every operation of a kernel has a position in its
// source, and what a few of them are.
func TestPositions(t *testing.T) {
	m, err := Build(Request{Pkg: "example.com/k", Func: "SwiGLU", TypeArgs: []string{"float32"}}, one("example.com/k", swiglu))
	require.NoError(t, err)
	want := map[ir.Op]string{
		ir.OpNeg: "21:39", ir.OpDiv: "21:24", ir.OpBounds: "20:", ir.OpStore: "21:",
	}
	for _, b := range m.Kernel().Blocks {
		for _, v := range b.Instrs {
			p := m.PosOf(v.Pos)
			if v.Op != ir.OpConst {
				require.Equal(t, "example.com/k/k.go", p.File, v.Op)
			}
			if at := fmt.Sprintf("%d:%d", p.Line, p.Col); want[v.Op] != "" {
				require.Contains(t, at, strings.TrimSuffix(want[v.Op], ":"), v.Op)
				delete(want, v.Op)
			}
		}
	}
	require.Empty(t, want)
}
