package compiler_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
)

const alwaysSource = `package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, out []uint32) {
	var a [4]uint32
	for i := 4; i < 8; i++ {
		a[i] = 1
	}
	out[t.Global()] = a[0]
}
`

// An index that is always out of range is an error of the compilation on every target, in builds
// that check nothing at run time too.
func TestAlwaysOutOfRange(t *testing.T) {
	src := &front.Package{Path: "example.com/k", Files: []front.File{{Name: "k.go", Text: []byte(alwaysSource)}}}
	p, err := compiler.Front(front.Request{Pkg: src.Path, Func: "K"}, func(string) (*front.Package, error) { return src, nil })
	require.NoError(t, err)
	for _, name := range []string{"cpu", "ptx:sm_90", "hip:gfx942", "msl:3.1"} {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		for _, opt := range []compiler.Options{{}, {Assume: compiler.Small}, {Checked: true}} {
			_, err := p.Optimize(tgt, opt)
			assert.ErrorContains(t, err, "example.com/k/k.go:9:4: K0308: index out of range [4] with length 4", "%s %+v", name, opt)
		}
	}
}
