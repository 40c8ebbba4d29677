package compiler_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
)

// Kernels that get no native code are IR with the warps of the target.
func TestInterpretedOnNativeTargets(t *testing.T) {
	p := program(t, front.Request{Pkg: kernels, Func: "Reductions", TypeArgs: []string{"int32"}})
	for _, name := range []string{"cpu:x86-64-v3", "cpu:x86-64-v4"} {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		for _, opt := range []compiler.Options{{Checked: true}, {Checked: true, Assume: compiler.Small}} {
			art, err := p.Emit(tgt, opt)
			require.NoError(t, err)
			assert.Equal(t, name, art.Target)
			assert.Equal(t, compiler.FormatIR, art.Format)
			assert.True(t, art.Warp)
			same, err := p.Emit(target.Interpreter(tgt.WarpSize), compiler.Options{Checked: true})
			require.NoError(t, err)
			assert.Equal(t, string(same.Code), string(art.Code))
			wide, err := p.Emit(target.CPU, compiler.Options{Checked: true})
			require.NoError(t, err)
			assert.False(t, string(wide.Code) == string(art.Code), "the size of a warp is a constant in the code")
			text, native, err := p.Listing(tgt, opt)
			require.NoError(t, err)
			assert.False(t, native)
			assert.Equal(t, string(art.Code), text)
		}
	}
}

func TestTargetForCPU(t *testing.T) {
	for _, c := range []struct {
		formats []string
		arch    string
		want    string
	}{
		{[]string{"kir"}, "amd64", "cpu"},
		{[]string{"kir"}, "arm64", "cpu"},
		{[]string{"kir"}, "warp16", "cpu:warp16"},
		{[]string{"x86", "kir"}, "x86-64-v4", "cpu:x86-64-v4"},
	} {
		tgt, err := compiler.TargetFor(c.formats, c.arch)
		require.NoError(t, err)
		assert.Equal(t, c.want, tgt.String())
	}
}
