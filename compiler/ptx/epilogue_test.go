package ptx_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	_ "github.com/gokiln/kiln/ops/elementwise/kernels" // their source
)

// epilogueText is the kernel for products with an epilogue, as PTX.
func epilogueText(t *testing.T, kernel, arch, act string, consts map[string]int64) string {
	req := front.Request{
		Pkg: "github.com/gokiln/kiln/ops/matmul/kernels", Func: kernel, TypeArgs: []string{"dsl.BF16", "dsl.BF16", "float32"}, Consts: consts, Fill: front.FillSmall,
		Funcs: map[string]front.Func{"mad": {Pkg: "github.com/gokiln/kiln/ops/kernels", Name: "MadReal[float32]"}, "act": {Pkg: "github.com/gokiln/kiln/ops/elementwise/kernels", Name: act}},
	}
	prog, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	tgt, err := target.Parse("ptx:" + arch)
	require.NoError(t, err)
	art, err := prog.Emit(tgt, compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint})
	require.NoError(t, err)
	return string(art.Code)
}

// TestEpilogueAssemble gives products with epilogues to the vendor's assembler: nothing is spilled.
func TestEpilogueAssemble(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	for _, c := range []struct {
		kernel, arch, act string
		consts            map[string]int64
	}{
		{"MultiplyThen", "sm_90a", "GeluErfShort", groupsConfig(128, 256, 8, 4, 0, 2, 2)},
		{"MultiplyThen", "sm_90a", "Silu[float32]", groupsConfig(128, 256, 8, 4, 0, 2, 2)},
		{"MultiplyThen", "sm_90a", "Gelu[float32]", groupsConfig(64, 128, 4, 8, 1, 1, 2)},
		{"MultiplyGated", "sm_90a", "Silu[float32]", groupsConfig(128, 256, 8, 4, 0, 2, 2)},
		{"MultiplyGated", "sm_90a", "GeluErfShort", groupsConfig(128, 256, 8, 4, 1, 1, 2)},
		{"MultiplyThen", "sm_80", "Silu[float32]", map[string]int64{"M": 128, "N": 128, "K": 64, "Down": 2, "Across": 2, "Stages": 3, "Chunk": 8, "A": 0, "B": 1, "AVec": 1, "BVec": 1}},
		{"MultiplyThen", "sm_80", "GeluErfShort", map[string]int64{"M": 128, "N": 256, "K": 64, "Down": 2, "Across": 4, "Stages": 3, "Chunk": 8, "A": 0, "B": 0, "AVec": 1, "BVec": 1}},
	} {
		t.Run(fmt.Sprintf("%s/%s/%s/%dx%d", c.kernel, c.arch, c.act, c.consts["M"], c.consts["N"]), func(t *testing.T) {
			t.Parallel()
			consts := map[string]int64{
				"pairs": 1, "e.Bias.Kind": 1, "e.Bias.Pairs": 1, "e.Residual.Kind": 3, "e.Residual.Pairs": 1, "e.Scaled": 1,
			}
			if c.kernel == "MultiplyGated" {
				consts["e.Factor.Kind"] = 4
			}
			for field, v := range c.consts {
				consts["cfg."+field] = v
			}
			file := filepath.Join(t.TempDir(), "epilogue.ptx")
			require.NoError(t, os.WriteFile(file, []byte(epilogueText(t, c.kernel, c.arch, c.act, consts)), 0o600))
			out, err := exec.Command(ptxas, "-v", "-arch="+c.arch, "-o", file+".cubin", file).CombinedOutput()
			require.NoError(t, err, "%s", out)
			t.Logf("%s", out)
			require.Contains(t, string(out), "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
			require.NotContains(t, string(out), "warning")
		})
	}
}
