package jit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	container "github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/ir"
)

// Native code of the CPU is kept like that of any other target, on any machine, and
// finds its lines when they move.
func TestNativeCodeIsCached(t *testing.T) {
	g := newRig(t)
	g.dev.key = ""
	g.source = strings.Replace(scaleSource, "if i := t.Global(); i < len(x) {\n\t\tx[i] *= 2\n\t}", "x[t.Global()] *= 2", 1)
	place := func(im *image) (p ir.Pos) {
		require.Equal(t, compiler.FormatX86, im.img.Format)
		native, err := container.Decode(im.img.Code)
		require.NoError(t, err)
		require.NotEmpty(t, native.Sites)
		for _, none := range []int{0, -1, 1 << 20} {
			file, line, col := im.img.Place(none)
			require.Equal(t, ir.Pos{}, ir.Pos{File: file, Line: line, Col: col})
		}
		p.File, p.Line, p.Col = im.img.Place(native.Sites[0].Pos)
		return p
	}
	for _, name := range []string{"cpu:x86-64-v4", "cpu:x86-64-v3"} {
		g.target = name
		im := g.must("compiled", 0)
		assert.Equal(t, name, im.meta.Target)
		first := place(im)
		assert.Equal(t, 7, first.Line)
		assert.Equal(t, first, place(g.must("cache", 0)))

		source := g.source
		g.source = strings.Replace(source, "\tx[", "\t// twice\n\tx[", 1)
		moved := place(g.must("cache", 0))
		assert.Equal(t, 8, moved.Line)
		assert.Equal(t, first.File, moved.File)
		g.env["KILN_JIT"] = "readonly"
		assert.Equal(t, moved, place(g.must("cache", 0)))
		delete(g.env, "KILN_JIT")
		g.source = source
	}
}

// A kernel that the compiler has no machine code for, by a fault of its own, runs all
// the same, and the log says so.
func TestFaultOfTheEmitterIsLogged(t *testing.T) {
	g := newRig(t)
	s, err := readSettings(func(name string) string { return g.env[name] }, &g.log)
	require.NoError(t, err)
	art := &compiler.Artifact{Meta: compiler.Meta{Kernel: "k.Scale", Target: "cpu:x86-64-v4", Format: compiler.FormatIR}}
	(&resolver{settings: s}).image(art)
	assert.Empty(t, g.log.String())
	art.Interpreted = "no register"
	(&resolver{settings: s}).image(art)
	assert.Equal(t, "msg=interpreted kernel=k.Scale target=cpu:x86-64-v4 err=\"no register\"\n", g.log.String())
}
