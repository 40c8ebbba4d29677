package compiler_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/dump"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
)

const unrollSource = `package k

import "github.com/gokiln/kiln/dsl"

func each[T any](x []T, f func(T)) {
	//kiln:unroll FACTOR
	for k := 0; k < 40; k++ {
		f(x[k])
	}
}

//kiln:kernel
func K(t dsl.Thread, x []uint32) {
	var s uint32
	each(x, func(v uint32) { s = s*3 ^ v })
	x[40+t.Global()] = s
}
`

// emitted returns the code of a kernel whose loop has this unroll factor.
func emitted(t *testing.T, factor, name string) (*compiler.Artifact, string) {
	text := strings.ReplaceAll(unrollSource, "FACTOR", factor)
	src := &front.Package{Path: "example.com/k", Files: []front.File{{Name: "k.go", Text: []byte(text)}}}
	p, err := compiler.Front(front.Request{Pkg: src.Path, Func: "K"}, func(string) (*front.Package, error) { return src, nil })
	require.NoError(t, err)
	tgt, err := target.Parse(name)
	require.NoError(t, err)
	art, err := p.Emit(tgt, compiler.Options{})
	require.NoError(t, err)
	return art, string(art.Code)
}

// The factor decides how many bodies there are, and those who compile the code further are told to leave
// what is left of the loop.
func TestUnrollWish(t *testing.T) {
	sm90, err := target.Parse("ptx:sm_90")
	require.NoError(t, err)
	ptxas := dump.PTXAS(sm90)
	for _, c := range []struct {
		factor       string
		bodies, left int
	}{{"", 40, 0}, {"1", 1, 1}, {"2", 3, 2}, {"10", 11, 2}, {"7", 8, 2}, {"64", 40, 0}} {
		art, code := emitted(t, c.factor, "ptx:sm_90")
		assert.Equal(t, c.bodies, strings.Count(code, "ld.global"), "factor %q:\n%s", c.factor, code)
		assert.Equal(t, c.left, strings.Count(code, `.pragma "nounroll";`), "factor %q:\n%s", c.factor, code)
		if ptxas != nil {
			log, err := ptxas(art)
			require.NoError(t, err, log)
		}
	}
	for _, name := range []string{"hip:gfx942", "msl:3.1", "cuda:sm_90", "opencl:1.2"} {
		_, code := emitted(t, "1", name)
		assert.Equal(t, 1, strings.Count(code, "#pragma unroll 1\n"), "%s:\n%s", name, code)
		_, code = emitted(t, "", name)
		assert.NotContains(t, code, "#pragma unroll", name)
	}
}
