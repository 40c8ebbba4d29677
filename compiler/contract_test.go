package compiler_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
)

// A kernel marked //kiln:fastmath is, on every target, the kernel that spells
// out what it permits; without the mark its operations stay apart.
func TestFastmath(t *testing.T) {
	emit := func(mark, product, sum, sum2, name string) string {
		text := "package k\n\nimport \"github.com/gokiln/kiln/dsl\"\n\n" + product + "\n\n//kiln:kernel\n" + mark +
			"func K(t dsl.Thread, x []float32, a, b float32) {\n\ti := t.Global()\n\tp := a * b\n\tx[i] = " + sum + "\n\tx[i+1] = " + sum2 + "\n\tx[i+2] = float32(b*b) + a\n\t_ = p\n}\n"
		prog, err := compiler.Front(front.Request{Pkg: "k", Func: "K"}, func(string) (*front.Package, error) {
			return &front.Package{Path: "k", Files: []front.File{{Name: "k.go", Text: []byte(text)}}}, nil
		})
		require.NoError(t, err, text)
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		art, err := prog.Emit(tgt, compiler.Options{})
		require.NoError(t, err)
		return regexp.MustCompile(` !\d+`).ReplaceAllString(string(art.Code), "") // without positions
	}
	const helper = "func times(a, b float32) float32 { return a * b }"
	for _, name := range []string{"cpu", "ptx:sm_70", "ptx:sm_90"} {
		marked := emit("//kiln:fastmath\n", helper, "p + x[i]", "x[i] - times(a, x[i])", name)
		spelled := emit("", "", "dsl.FMA(a, b, x[i])", "dsl.FMA(-a, x[i], x[i])", name)
		plain := emit("", helper, "p + x[i]", "x[i] - times(a, x[i])", name)
		assert.Equal(t, spelled, marked, name)
		assert.NotEqual(t, plain, marked, name)
		assert.NotContains(t, plain, "fma", name)
	}
}
