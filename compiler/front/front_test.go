package front

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// one returns a loader of a package with a single file.
func one(path, text string) Loader {
	return packages(map[string]string{path: text})
}

// packages returns a loader of packages with a file each.
func packages(texts map[string]string) Loader {
	return func(path string) (*Package, error) {
		text, ok := texts[path]
		if !ok {
			return nil, fmt.Errorf("package %s has no kernel source", path)
		}
		return &Package{Path: path, Files: []File{{Name: "k.go", Text: []byte(text)}}}, nil
	}
}

const swiglu = `package k

import (
	"embed"
	"fmt"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// SwiGLU writes silu(gate[i]) * up[i] to out[i].
//
//kiln:kernel
func SwiGLU[T dsl.Float](t dsl.Thread, out, gate, up []T) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		g := dsl.F32(gate[i])
		out[i] = dsl.To[T](g / (1 + dsl.Exp(-g)) * dsl.F32(up[i]))
	}
}

func host() { fmt.Println(source) }
`

func TestSwiGLU(t *testing.T) {
	for _, elem := range []string{"float32", "float64", "dsl.F16", "dsl.BF16"} {
		sig := fmt.Sprintf("func(dsl.Thread, []%[1]s, []%[1]s, []%[1]s)", elem)
		m, err := Build(Request{Pkg: "example.com/k", Func: "SwiGLU", Sig: sig}, one("example.com/k", swiglu))
		require.NoError(t, err)
		require.NoError(t, ir.Verify(m), m.String())
		if testing.Verbose() {
			t.Log(m.String())
		}
		require.Equal(t, "[]"+elem, m.Kernel().Args[0].Go)
	}
}

func TestSharedReduction(t *testing.T) {
	const text = `package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func Sum(t dsl.Thread, out, in []float32) {
	tile := dsl.Shared[[256]float32](t)
	n := t.ThreadX()
	s := float32(0)
	for i := t.Global(); i < len(in); i += t.GlobalSize() {
		s += in[i]
	}
	tile[n] = s
	t.Sync()
	for d := t.BlockDimX() / 2; d > 0; d /= 2 {
		if n < d {
			tile[n] += tile[n+d]
		}
		t.Sync()
	}
	if n == 0 {
		dsl.AtomicAdd(&out[0], tile[0])
	}
	out[1] = dsl.BlockSum(t, s)
}
`
	m, err := Build(Request{Pkg: "k", Func: "Sum"}, one("k", text))
	require.NoError(t, err)
	require.NoError(t, ir.Verify(m), m.String())
	require.Len(t, m.Shared, 2)
}
