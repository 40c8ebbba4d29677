package compiler_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
)

// Launch bounds reach the assemblers and compilers that can use them, and the launcher.
func TestLaunchBounds(t *testing.T) {
	text := "package k\n\nimport \"github.com/gokiln/kiln/dsl\"\n\n//kiln:kernel\nfunc K(t dsl.Thread, x []float32, n dsl.ConstInt) {\n\tdsl.LaunchBounds(t, 32*n, n)\n\tx[t.Global()] = 1\n}\n"
	emit := func(name string, n int64) *compiler.Artifact {
		prog, err := compiler.Front(front.Request{Pkg: "k", Func: "K", Consts: map[string]int64{"n": n}}, func(string) (*front.Package, error) {
			return &front.Package{Path: "k", Files: []front.File{{Name: "k.go", Text: []byte(text)}}}, nil
		})
		require.NoError(t, err)
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		art, err := prog.Emit(tgt, compiler.Options{})
		require.NoError(t, err)
		return art
	}
	for name, want := range map[string]string{
		"ptx:sm_90": ")\n.maxntid 128\n.minnctapersm 4\n{", "cuda:sm_90": "__launch_bounds__(128, 4)", "hip:gfx942": "__launch_bounds__(128)",
		"llvm:gfx942": `"amdgpu-flat-work-group-size"="128,128"`, "llvm:sm_90": `"maxntidx", i32 128`, "cpu": "launch 128 4", "msl:3.0": "kernel",
	} {
		art := emit(name, 4)
		assert.Contains(t, string(art.Code), want, name)
		assert.Equal(t, 128, art.Threads, name)
	}
}
