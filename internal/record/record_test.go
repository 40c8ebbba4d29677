package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/front"
)

func TestRequests(t *testing.T) {
	req := front.Request{
		Pkg: "example.com/k.v2", Func: "Fold", Sig: "func(dsl.Thread, []float32, func(float32, float32) float32)",
		Consts: map[string]int64{"w.Mode": 1, "n": -3},
		Funcs:  map[string]front.Func{"f": {Pkg: "example.com/m", File: "m.go", Line: 7, Col: 9, Sig: "func(a, b float32) float32"}},
	}
	spec := Of(req)
	read, err := Parse([]byte(spec.String()))
	require.NoError(t, err)
	got, err := read.Request()
	require.NoError(t, err)
	require.Equal(t, req, got)
}

func TestSets(t *testing.T) {
	add := Spec{Kernel: "k.Add", Sig: "func(dsl.Thread, []float32)", Builds: []string{"small"}, Targets: []string{"ptx:sm_90"}}
	var a Set
	require.True(t, a.Add(Spec{Kernel: "k.Mul"}))
	require.True(t, a.Add(add))
	require.False(t, a.Add(add))
	add.Targets = []string{"ptx:sm_80"}
	require.True(t, a.Add(add))

	name := filepath.Join(t.TempDir(), "kernels.txt")
	require.NoError(t, a.Save(name))
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, header+
		`{"kernel":"k.Add","sig":"func(dsl.Thread, []float32)","builds":["small"],"targets":["ptx:sm_80","ptx:sm_90"]}`+"\n"+
		`{"kernel":"k.Mul"}`+"\n", string(text))

	var b Set
	require.NoError(t, b.Load(name))
	require.Equal(t, a.Specs(), b.Specs())
	require.NoError(t, b.Load(filepath.Join(t.TempDir(), "none")))
	require.False(t, b.Add(add))
}

func TestBadRecords(t *testing.T) {
	for text, want := range map[string]string{
		"{":                            "r:1: not a line of a record",
		"\n\n{\"kernel\":\"k\"}":       `r:3: kernel "k": want an import path, a dot and a name`,
		`{"kernel":"a/.K"}`:            "want an import path",
		`{"kernel":"a.b/"}`:            "want an import path",
		`{"kernel":"a.K","what":1}`:    "unknown field",
		`{"kernel":"a.K"}{"kernel":1}`: "something follows",
		strings.Repeat("x", 1<<20+1):   "too long",
	} {
		var r Set
		require.ErrorContains(t, r.ReadFrom("r", strings.NewReader(text)), want)
	}
}
